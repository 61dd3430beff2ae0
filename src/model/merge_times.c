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
	const uint32_t *sites; /* NULL: the numbers are the merged ones */
	uint64_t shift_ns;
	size_t next_point;
	size_t next_change;
	struct profile_point state; /* at the last point taken; peak_bytes since the last join */
	struct amount *last;	    /* by its own sites */
	struct amount *live;	    /* by merged sites */
};

struct joiner {
	struct line lines[2];
	enum profile_merge mode;
	VEC(uint64_t) times;
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

static void list_times(struct joiner *j)
{
	const struct line *a = &j->lines[0], *b = &j->lines[1];
	size_t i = 0, k = 0;

	while (i < a->point_count || k < b->point_count) {
		uint64_t time = UINT64_MAX;
		if (i < a->point_count)
			time = time_of(a, i);
		if (k < b->point_count && time_of(b, k) < time)
			time = time_of(b, k);
		while (i < a->point_count && time_of(a, i) == time)
			i++;
		while (k < b->point_count && time_of(b, k) == time)
			k++;
		*vec_push(&j->times) = time;
	}
}

/* Every other one goes, and the last one stays. */
static void thin_times(struct joiner *j, size_t most)
{
	while (j->times.count > most && j->times.count > 1) {
		size_t kept = 0;
		for (size_t i = (j->times.count - 1) % 2; i < j->times.count; i += 2)
			j->times.at[kept++] = j->times.at[i];
		j->times.count = kept;
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
	struct amount now = {c->live_bytes, c->live_blocks};

	l->live[site] = amount_plus(amount_minus(l->live[site], l->last[c->site]), now);
	l->last[c->site] = now;
	touch(j, site);
}

static void advance(struct joiner *j, struct line *l, uint64_t time)
{
	uint64_t peak = l->state.live_bytes;

	while (l->next_point < l->point_count && time_of(l, l->next_point) <= time) {
		l->state = l->points[l->next_point++];
		peak = l->state.peak_bytes > peak ? l->state.peak_bytes : peak;
	}
	l->state.peak_bytes = peak;
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
	struct amount both = {merge_figures_value(a.bytes, b.bytes, j->mode),
			      merge_figures_value(a.blocks, b.blocks, j->mode)};

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

static void join_at(struct joiner *j, uint64_t time)
{
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
	j->out.points.count = j->out.changes.count = 0;
}

/* Joins the lines; with fewer points if there would be too many changes. */
static void join(struct joiner *j, const size_t own_sites[2], size_t sites)
{
	size_t most = MERGE_TIMES_POINTS;

	j->is_touched = mem_new(sites, sizeof(*j->is_touched));
	do {
		thin_times(j, most);
		reset(j, own_sites, sites);
		for (size_t i = 0; i < j->times.count; i++)
			join_at(j, j->times.at[i]);
		most = j->times.count / 2;
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
	vec_free(&j->times);
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
			   .change_count = t->changes.count},
			  {.points = p->points.at,
			   .point_count = p->points.count,
			   .changes = p->changes.at,
			   .change_count = p->changes.count,
			   .sites = in->sites,
			   .shift_ns = in->shift_ns}},
	};

	list_times(&j);
	join(&j, own_sites, in->site_count);
	fini(&j);
	merge_times_fini(t);
	*t = j.out;
}

void merge_times_shift(struct merge_times *t, uint64_t by_ns)
{
	for (size_t i = 0; i < t->points.count; i++)
		t->points.at[i].time_ns = merge_times_later(t->points.at[i].time_ns, by_ns);
}

void merge_times_divide(struct merge_times *t, uint64_t count)
{
	for (size_t i = 0; i < t->points.count; i++)
		merge_figures_divide_point(&t->points.at[i], count);
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
}
