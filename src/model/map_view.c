/* map_view.c -- a profile seen as what the program mapped itself, not as what it allocated. Runs:
 * offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/map_view.h"

#include <string.h>

#include "profile/trace_store.h"
#include "model/merge_figures.h"

static const char *const names[PROFILE_MAP_KINDS] = {
	[PROFILE_MAP_ANONYMOUS] = "anonymous", [PROFILE_MAP_FILE] = "file",
	[PROFILE_MAP_RESERVED] = "reserved",   [PROFILE_MAP_SHARED] = "shared",
	[PROFILE_MAP_BREAK] = "break",	       [PROFILE_MAP_ALLOCATOR] = "allocator",
};

const char *map_view_get_name(uint64_t kind)
{
	return kind < PROFILE_MAP_KINDS ? names[kind] : "unknown";
}

uint32_t map_view_find_kind(const char *name)
{
	for (uint32_t i = 0; i < PROFILE_MAP_ALLOCATOR; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return PROFILE_MAP_KINDS;
}

static void keep_kind(struct profile *p, uint32_t kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->sites.count; i++)
		if (p->sites.at[i].kind == kind)
			p->sites.at[kept++] = p->sites.at[i];
	p->sites.count = kept;
}

static void drop_what_is_of_blocks(struct profile *p)
{
	p->parts.count = p->threads.count = p->changes.count = 0;
	p->snapshots.count = p->tags.count = p->blocks.count = 0;
	p->lost.count = p->links.count = p->pins.count = p->cells.count = 0;
	p->types.count = 0;
	p->run.lost_flags = 0;
	trace_store_free(p->trace);
	p->trace = NULL;
	memset(p->sizes, 0, sizeof(p->sizes));
	memset(p->size_by_life, 0, sizeof(p->size_by_life));
	p->run.sample_period = 0; /* maps are all recorded */
	for (size_t i = 0; i < p->sites.count; i++)
		p->sites.at[i].thread = 0; /* there are no shares of those that several use */
}

/* Over time they are known in sum. A profile of maps that has none in its points was made by a
 * midden that did not keep them. */
static void take_points(struct profile *p, uint32_t kind)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < p->points.count; i++) {
		struct profile_point *point = &p->points.at[i];

		*point = (struct profile_point){.time_ns = point->time_ns,
						.live_bytes = point->mapped_bytes,
						.live_blocks = point->mapped_count,
						.peak_bytes = point->mapped_peak_bytes,
						.rss_bytes = point->rss_bytes};
		highest = point->peak_bytes > highest ? point->peak_bytes : highest;
	}
	if (kind < PROFILE_MAP_KINDS || (!highest && p->map_totals.peak_bytes))
		p->points.count = 0;
}

/* Totals of one kind are those of its sites, but for what belongs to none. */
static void sum_up(struct profile *p, uint32_t kind)
{
	struct profile_totals *t = &p->totals;

	merge_figures_total(t, p->sites.at, p->sites.count);
	t->stacks = p->sites.count;
	if (kind < PROFILE_MAP_KINDS) /* no one knows which kind it would have been */
		t->failed_allocations = 0;
}

static void take_totals(struct profile *p)
{
	struct profile_totals of_run = p->totals;
	struct profile_totals *t = &p->totals;

	*t = p->map_totals;
	t->threads = of_run.threads;
	t->rss_peak_bytes = of_run.rss_peak_bytes;
	t->own_memory_bytes = of_run.own_memory_bytes;
	t->truncated_stacks = of_run.truncated_stacks;
	t->unwind_failures = of_run.unwind_failures;
	t->lost_events += of_run.lost_events;
	t->untracked_frees = 0; /* of blocks, for whoever prints it */
}

int map_view_choose(struct profile *p, uint32_t kind, struct error *e)
{
	if (!p->map_kinds.count)
		return error_set(e, "the profile has no maps: record with --maps");
	vec_free(&p->sites);
	p->sites.at = p->map_sites.at;
	p->sites.count = p->map_sites.count;
	p->sites.room = p->map_sites.room;
	p->map_sites.at = NULL;
	p->map_sites.count = p->map_sites.room = 0;
	take_totals(p);
	drop_what_is_of_blocks(p);
	take_points(p, kind);
	p->of_maps = true;
	if (kind < PROFILE_MAP_KINDS) {
		keep_kind(p, kind);
		sum_up(p, kind);
	}
	return 0;
}
