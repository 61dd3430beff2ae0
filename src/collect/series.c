/* series.c -- the heap over time: a few hundred points, and which sites changed between them.
 * Runs: in the collector process, one thread, when an event crosses the next point's time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/series.h"

#include <stdlib.h>
#include <string.h>

void series_init(struct series *s, uint64_t interval)
{
	*s = (struct series){.interval = interval, .next = interval};
	s->changes_max = SERIES_CHANGES_MAX;
}

void series_fini(struct series *s)
{
	vec_free(&s->points);
	vec_free(&s->changes);
}

void series_skip(struct series *s, uint64_t ticks)
{
	s->next = (ticks / s->interval + 1) * s->interval;
}

/* The later state holds for the pair; the highest of both spans is the highest of the joint one. */
static struct profile_point join(const struct profile_point *a, const struct profile_point *b)
{
	struct profile_point both = *b;

	if (a->peak_bytes > both.peak_bytes)
		both.peak_bytes = a->peak_bytes;
	return both;
}

static void halve_points(struct series *s)
{
	size_t pairs = s->points.count / 2;

	for (size_t i = 0; i < pairs; i++)
		s->points.at[i] = join(&s->points.at[2 * i], &s->points.at[2 * i + 1]);
	if (s->points.count % 2)
		s->points.at[pairs] = s->points.at[s->points.count - 1];
	s->points.count -= pairs;
}

/* From the last change to the first: what is met first for a site in a pair is the later, which
 * holds. The survivors gather at the end of the array, in order. */
static void halve_changes(struct series *s, size_t site_count)
{
	if (!s->changes.count)
		return;
	uint32_t *kept_at = mem_new(site_count, sizeof(*kept_at)); /* point + 1 */
	size_t kept = s->changes.count;

	for (size_t i = s->changes.count; i-- > 0;) {
		struct profile_change change = s->changes.at[i];

		change.point /= 2;
		if (kept_at[change.site] == change.point + 1)
			continue;
		kept_at[change.site] = change.point + 1;
		s->changes.at[--kept] = change;
	}
	s->changes.count -= kept;
	memmove(s->changes.at, s->changes.at + kept, s->changes.count * sizeof(s->changes.at[0]));
	free(kept_at);
}

static bool is_full(const struct series *s)
{
	return s->points.count >= SERIES_POINTS_MAX - 1 || /* one is left for the end */
	       s->changes.count > s->changes_max;
}

static void halve_until_it_fits(struct series *s, size_t site_count)
{
	while (is_full(s) && s->points.count > 1) {
		halve_points(s);
		halve_changes(s, site_count);
		s->interval *= 2;
	}
}

static bool is_news(const struct site *site)
{
	return holding_get_bytes(&site->held) != site->noted_bytes ||
	       holding_get_blocks(&site->held) != site->noted_blocks;
}

static struct profile_change get_change(const struct sites *sites, uint32_t site, size_t point)
{
	const struct holding *held = &sites->list.at[site].held;

	return (struct profile_change){
		.point = (uint32_t)point,
		.site = site,
		.live_bytes = holding_get_bytes(held),
		.live_blocks = holding_get_blocks(held),
	};
}

static void note_changes(struct series *s, struct sites *sites, size_t point)
{
	for (size_t i = 0; i < sites->changed.count; i++) {
		uint32_t index = sites->changed.at[i];
		struct site *site = &sites->list.at[index];

		site->changed = false;
		if (!is_news(site))
			continue;
		*vec_push(&s->changes) = get_change(sites, index, point);
		site->noted_bytes = holding_get_bytes(&site->held);
		site->noted_blocks = holding_get_blocks(&site->held);
	}
	sites->changed.count = 0;
}

void series_add(struct series *s, const struct profile_point *state, struct sites *sites)
{
	*vec_push(&s->points) = *state;
	note_changes(s, sites, s->points.count - 1);
	halve_until_it_fits(s, sites->list.count);
	series_skip(s, state->time_ns);
}

/* By point, then site; the sites of a point were noted in the order in which they changed. */
static int compare_changes(const void *a, const void *b)
{
	const struct profile_change *x = a, *y = b;

	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

void series_build(const struct series *s, const struct profile_point *state,
		  const struct sites *sites, struct profile *p)
{
	vec_reserve(&p->points, s->points.count + 1);
	for (size_t i = 0; i < s->points.count; i++)
		*vec_push(&p->points) = s->points.at[i];
	*vec_push(&p->points) = *state;

	vec_reserve(&p->changes, s->changes.count + sites->changed.count);
	for (size_t i = 0; i < s->changes.count; i++)
		*vec_push(&p->changes) = s->changes.at[i];
	for (size_t i = 0; i < sites->changed.count; i++)
		if (is_news(&sites->list.at[sites->changed.at[i]]))
			*vec_push(&p->changes) =
				get_change(sites, sites->changed.at[i], s->points.count);
	if (p->changes.count)
		qsort(p->changes.at, p->changes.count, sizeof(p->changes.at[0]), compare_changes);
}
