/* merge_times.c -- the time lines of several recordings made one.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_times.h"

#include <string.h>

#include "model/figure.h"
#include "model/merge_figures.h"

/* One of the two time lines that are joined. */
struct line {
	const struct profile_point *points;
	size_t point_count;
	const struct profile_change *changes;
	size_t change_count;
	const struct profile_snapshot *snapshots;
	size_t snapshot_count;
	const uint32_t *sites; /* NULL: the numbers are the merged ones */
	uint64_t shift_ns;
	size_t next_point;
	size_t next_change;
	size_t next_snapshot;
	struct profile_point state; /* at the last point taken; peak_bytes since the last join */
	struct amount *last;	    /* by its own sites */
	struct amount *live;	    /* by merged sites */
};

/* A point of the joint line. */
struct stop {
	uint64_t time_ns;
	const struct profile_snapshot *snapshot; /* of this point; NULL: there is none */
};

struct joiner {
	struct line lines[2];
	enum profile_merge mode;
	VEC(struct stop) stops;
	VEC(uint32_t) touched; /* merged sites with a change since the last join */
	bool *is_touched;
	struct amount *written; /* by merged site: the last that was written */
	struct merge_times out;
};

static uint64_t time_of(const struct line *l, size_t point)
{
	return merge_times_later(l->points[point].time_ns, l->shift_ns);
}

/* ---- the points ------------------------------------------------------------------------------ */

static void push_stop(struct joiner *j, struct line *l)
{
	size_t point = l->next_point++;
	const struct profile_snapshot *snapshot = NULL;

	if (l->next_snapshot < l->snapshot_count && l->snapshots[l->next_snapshot].point == point)
		snapshot = &l->snapshots[l->next_snapshot++];
	*vec_push(&j->stops) = (struct stop){time_of(l, point), snapshot};
}

/* One of equal times suffices, but each snapshot has a point of its own. */
static void drop_equal(struct joiner *j)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->stops.count; i++) {
		const struct stop *stop = &j->stops.at[i];
		bool again = kept && j->stops.at[kept - 1].time_ns == stop->time_ns;
		if (again && !stop->snapshot)
			continue;
		if (again && !j->stops.at[kept - 1].snapshot)
			kept--;
		j->stops.at[kept++] = *stop;
	}
	j->stops.count = kept;
}

static void list_stops(struct joiner *j)
{
	struct line *a = &j->lines[0], *b = &j->lines[1];

	while (a->next_point < a->point_count || b->next_point < b->point_count) {
		bool first = b->next_point == b->point_count ||
			     (a->next_point < a->point_count &&
			      time_of(a, a->next_point) <= time_of(b, b->next_point));
		push_stop(j, first ? a : b);
	}
	drop_equal(j);
}

static size_t count_ordinary(const struct joiner *j)
{
	size_t count = 0;

	for (size_t i = 0; i < j->stops.count; i++)
		count += !j->stops.at[i].snapshot;
	return count;
}

/* Every other one goes; the last one stays, and so do snapshots. */
static void thin_stops(struct joiner *j, size_t most)
{
	for (size_t count = count_ordinary(j); count > most && count > 1;) {
		size_t kept = 0, seen = 0;
		for (size_t i = 0; i < j->stops.count; i++) {
			const struct stop *stop = &j->stops.at[i];
			bool goes = !stop->snapshot && (count - ++seen) % 2;
			if (stop->snapshot || !goes)
				j->stops.at[kept++] = *stop;
		}
		j->stops.count = kept;
		count = count_ordinary(j);
	}
}

/* ---- one line up to a time ------------------------------------------------------------------- */

static void touch(struct joiner *j, uint32_t site)
{
	if (j->is_touched[site])
		return;
	j->is_touched[site] = true;
	*vec_push(&j->touched) = site;
}

/* Several sites of one recording may be one in the merged profile: their differences count. */
static void take_change(struct joiner *j, struct line *l, const struct profile_change *c)
{
	uint32_t site = l->sites ? l->sites[c->site] : c->site;
	struct amount now = {.bytes = c->live_bytes, .blocks = c->live_blocks};

	l->live[site] = amount_plus(amount_minus(l->live[site], l->last[c->site]), now);
	l->last[c->site] = now;
	touch(j, site);
}

/* What was the most since the last point is told by the next one. */
static bool is_between(const struct line *l, uint64_t time)
{
	uint64_t last = l->next_point ? time_of(l, l->next_point - 1) : l->shift_ns;

	return l->next_point < l->point_count && time > last;
}

static uint64_t get_higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void advance(struct joiner *j, struct line *l, uint64_t time)
{
	uint64_t peak = l->state.live_bytes, mapped = l->state.mapped_bytes;

	while (l->next_point < l->point_count && time_of(l, l->next_point) <= time) {
		l->state = l->points[l->next_point++];
		peak = get_higher(peak, l->state.peak_bytes);
		mapped = get_higher(mapped, l->state.mapped_peak_bytes);
	}
	if (is_between(l, time)) {
		peak = get_higher(peak, l->points[l->next_point].peak_bytes);
		mapped = get_higher(mapped, l->points[l->next_point].mapped_peak_bytes);
	}
	l->state.peak_bytes = peak;
	l->state.mapped_peak_bytes = mapped;
	while (l->next_change < l->change_count && l->changes[l->next_change].point < l->next_point)
		take_change(j, l, &l->changes[l->next_change++]);
}

/* ---- both together --------------------------------------------------------------------------- */

static int compare_sites(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void write_change(struct joiner *j, uint32_t site)
{
	struct amount a = j->lines[0].live[site], b = j->lines[1].live[site];
	struct amount both = {.bytes = merge_figures_value(a.bytes, b.bytes, j->mode),
			      .blocks = merge_figures_value(a.blocks, b.blocks, j->mode)};

	j->is_touched[site] = false;
	if (amount_is_zero(amount_minus(both, j->written[site])))
		return;
	j->written[site] = both;
	*vec_push(&j->out.changes) = (struct profile_change){
		.point = (uint32_t)j->out.points.count - 1,
		.site = site,
		.live_bytes = both.bytes,
		.live_blocks = both.blocks,
	};
}

static void write_snapshot(struct joiner *j, const struct profile_snapshot *from)
{
	const struct profile_point *point = &j->out.points.at[j->out.points.count - 1];
	struct profile_snapshot s = *from;

	s.point = (uint32_t)j->out.points.count - 1;
	s.time_ns = point->time_ns;
	s.live_bytes = point->live_bytes;
	s.live_blocks = point->live_blocks;
	*vec_push(&j->out.snapshots) = s;
}

static void join_at(struct joiner *j, const struct stop *stop)
{
	uint64_t time = stop->time_ns;

	advance(j, &j->lines[0], time);
	advance(j, &j->lines[1], time);
	struct profile_point point = j->lines[0].state;
	merge_figures_point(&point, &j->lines[1].state, j->mode);
	point.time_ns = time;
	*vec_push(&j->out.points) = point;
	if (j->touched.count)
		qsort(j->touched.at, j->touched.count, sizeof(*j->touched.at), compare_sites);
	for (size_t i = 0; i < j->touched.count; i++)
		write_change(j, j->touched.at[i]);
	j->touched.count = 0;
	if (stop->snapshot)
		write_snapshot(j, stop->snapshot);
}

static void reset(struct joiner *j, const size_t own_sites[2], size_t sites)
{
	for (unsigned i = 0; i < 2; i++) {
		struct line *l = &j->lines[i];
		l->next_point = l->next_change = 0;
		l->state = (struct profile_point){0};
		free(l->last);
		free(l->live);
		l->last = mem_new(own_sites[i], sizeof(*l->last));
		l->live = mem_new(sites, sizeof(*l->live));
	}
	free(j->written);
	j->written = mem_new(sites, sizeof(*j->written));
	j->out.points.count = j->out.changes.count = j->out.snapshots.count = 0;
}

/* Joins the lines; with fewer points if there would be too many changes. */
static void join(struct joiner *j, const size_t own_sites[2], size_t sites)
{
	size_t most = MERGE_TIMES_POINTS;

	j->is_touched = mem_new(sites, sizeof(*j->is_touched));
	do {
		thin_stops(j, most);
		reset(j, own_sites, sites);
		for (size_t i = 0; i < j->stops.count; i++)
			join_at(j, &j->stops.at[i]);
		most = count_ordinary(j) / 2;
	} while (j->out.changes.count > MERGE_TIMES_CHANGES && most > 0);
}

static void fini(struct joiner *j)
{
	for (unsigned i = 0; i < 2; i++) {
		free(j->lines[i].last);
		free(j->lines[i].live);
	}
	free(j->is_touched);
	free(j->written);
	vec_free(&j->stops);
	vec_free(&j->touched);
}

void merge_times_add(struct merge_times *t, const struct merge_times_input *in)
{
	const struct profile *p = in->profile;
	const size_t own_sites[2] = {in->site_count, p->sites.count};
	struct joiner j = {
		.mode = in->mode,
		.lines = {{.points = t->points.at,
			   .point_count = t->points.count,
			   .changes = t->changes.at,
			   .change_count = t->changes.count,
			   .snapshots = t->snapshots.at,
			   .snapshot_count = t->snapshots.count},
			  {.points = p->points.at,
			   .point_count = p->points.count,
			   .changes = p->changes.at,
			   .change_count = p->changes.count,
			   .snapshots = in->snapshots,
			   .snapshot_count = in->snapshot_count,
			   .sites = in->sites,
			   .shift_ns = in->shift_ns}},
	};

	list_stops(&j);
	join(&j, own_sites, in->site_count);
	fini(&j);
	merge_times_fini(t);
	*t = j.out;
}

void merge_times_shift(struct merge_times *t, uint64_t by_ns)
{
	for (size_t i = 0; i < t->points.count; i++)
		t->points.at[i].time_ns = merge_times_later(t->points.at[i].time_ns, by_ns);
	for (size_t i = 0; i < t->snapshots.count; i++)
		t->snapshots.at[i].time_ns = merge_times_later(t->snapshots.at[i].time_ns, by_ns);
}

void merge_times_divide(struct merge_times *t, uint64_t count)
{
	for (size_t i = 0; i < t->points.count; i++)
		merge_figures_divide_point(&t->points.at[i], count);
	for (size_t i = 0; i < t->snapshots.count; i++) {
		struct profile_snapshot *s = &t->snapshots.at[i];
		s->live_bytes = t->points.at[s->point].live_bytes;
		s->live_blocks = t->points.at[s->point].live_blocks;
	}
	for (size_t i = 0; i < t->changes.count; i++) {
		struct profile_change *c = &t->changes.at[i];
		c->live_bytes = merge_figures_divide(c->live_bytes, count);
		c->live_blocks = merge_figures_divide(c->live_blocks, count);
	}
}

void merge_times_fini(struct merge_times *t)
{
	vec_free(&t->points);
	vec_free(&t->changes);
	vec_free(&t->snapshots);
}
