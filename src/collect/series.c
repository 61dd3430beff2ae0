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
	vec_free(&s->pins);
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
	if (a->mapped_peak_bytes > both.mapped_peak_bytes)
		both.mapped_peak_bytes = a->mapped_peak_bytes;
	return both;
}

/* Joins each point with the next, unless it is pinned. `moved` gets the new index of every point,
 * and so do the pins. */
static void halve_points(struct series *s, uint32_t *moved)
{
	size_t count = s->points.count, kept = 0, pin = 0;

	for (size_t i = 0; i < count; i++, kept++) {
		while (pin < s->pins.count && s->pins.at[pin] < i)
			pin++;
		bool pinned = pin < s->pins.count && s->pins.at[pin] == i;

		moved[i] = (uint32_t)kept;
		s->points.at[kept] = s->points.at[i];
		if (pinned || i + 1 == count)
			continue;
		s->points.at[kept] = join(&s->points.at[i], &s->points.at[i + 1]);
		moved[++i] = (uint32_t)kept;
	}
	s->points.count = kept;
	for (size_t i = 0; i < s->pins.count; i++)
		s->pins.at[i] = moved[s->pins.at[i]];
}

/* From the last change to the first: what is met first for a site in a joint point is the later,
 * which holds. The survivors gather at the end of the array, in order. */
static void halve_changes(struct series *s, const uint32_t *moved, size_t site_count)
{
	if (!s->changes.count)
		return;
	uint32_t *kept_at = mem_new(site_count, sizeof(*kept_at)); /* point + 1 */
	size_t kept = s->changes.count;

	for (size_t i = s->changes.count; i-- > 0;) {
		struct profile_change change = s->changes.at[i];

		change.point = moved[change.point];
		if (kept_at[change.site] == change.point + 1)
			continue;
		kept_at[change.site] = change.point + 1;
		s->changes.at[--kept] = change;
	}
	s->changes.count -= kept;
	memmove(s->changes.at, s->changes.at + kept, s->changes.count * sizeof(s->changes.at[0]));
	free(kept_at);
}

/* One is left for the end. */
static bool is_full(const struct series *s)
{
	return s->points.count - s->pins.count >= SERIES_POINTS_MAX - 1 ||
	       s->changes.count > s->changes_max;
}

/* Ends too where all that is left is pinned. */
static void halve_until_it_fits(struct series *s, size_t site_count)
{
	size_t before = 0;

	while (is_full(s) && s->points.count > 1 && s->points.count != before) {
		uint32_t *moved = mem_new(s->points.count, sizeof(*moved));

		before = s->points.count;
		halve_points(s, moved);
		halve_changes(s, moved, site_count);
		s->interval *= 2;
		free(moved);
	}
}

/* Half of the room is for the other points. */
bool series_can_pin(const struct series *s)
{
	return s->changes.count <= s->changes_max / 2;
}

void series_pin(struct series *s)
{
	s->pin_next = true;
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
	if (s->pin_next)
		*vec_push(&s->pins) = (uint32_t)s->points.count - 1;
	s->pin_next = false;
	note_changes(s, sites, s->points.count - 1);
	halve_until_it_fits(s, sites->list.count);
	series_skip(s, state->time_ns);
}

static uint32_t get_point(const struct profile_change *change)
{
	return change->point;
}

static uint32_t get_site(const struct profile_change *change)
{
	return change->site;
}

/* One pass of a counting sort: to `to`, by a key below `keys`, what has the same one as it was. */
static void sort_by(uint32_t (*get_key)(const struct profile_change *), size_t keys,
		    const struct profile_change *from, struct profile_change *to, size_t count)
{
	size_t *places = mem_new(keys + 1, sizeof(*places));

	for (size_t i = 0; i < count; i++)
		places[get_key(&from[i]) + 1]++;
	for (size_t key = 0; key < keys; key++)
		places[key + 1] += places[key];
	for (size_t i = 0; i < count; i++)
		to[places[get_key(&from[i])]++] = from[i];
	free(places);
}

/* By point, then site; the sites of a point were noted in the order in which they changed. */
static void sort_changes(struct profile *p, size_t points, size_t sites)
{
	size_t count = p->changes.count;
	struct profile_change *by_site = mem_new(count, sizeof(*by_site));

	sort_by(get_site, sites, p->changes.at, by_site, count);
	sort_by(get_point, points, by_site, p->changes.at, count);
	free(by_site);
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
		sort_changes(p, p->points.count, sites->list.count);
}
