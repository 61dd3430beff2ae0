/* tag_counts.h -- what the target has counted by tag, read from the segment.
 * Runs: in the collector process, one thread; the target goes on counting meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_TAG_COUNTS_H
#define MIDDEN_COLLECT_TAG_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/segment_map.h"
#include "profile/profile.h"

/* Kept for snapshots: rows as in a profile, but for the name, which is an offset in the segment. */
struct tag_counts {
	VEC(struct profile_tag) kept;
	VEC(struct profile_tag) cleared; /* by tag: what it had when figures started over */
	uint32_t snapshots;		 /* that it holds, or had no room for */
	uint32_t clears;		 /* that have been seen */
};

void tag_counts_fini(struct tag_counts *t);

/* Counts start over from now on, and no snapshot is kept any more. */
void tag_counts_clear(struct tag_counts *t, const struct segment_map *map);

/* Keeps the counts as they are now for the snapshots up to number `count`. */
void tag_counts_keep(struct tag_counts *t, const struct segment_map *map, uint32_t count);

/* Adds the counts as they are now, those kept for the profile's snapshots, which it has already,
 * and what went wrong. */
void tag_counts_build(const struct tag_counts *t, const struct segment_map *map, struct profile *p);

/* In tag mode the counters are all there is: they give the totals of the profile too, and those of
 * its threads. */
void tag_counts_add_totals(struct profile *p);

/* What is counted at this moment, by one thread or, if the serial is 0, by all. The live bytes are
 * of usable sizes: only those are known of a block that goes. */
struct tag_counts_sum {
	uint64_t allocations;
	uint64_t frees;
	uint64_t reallocations;
	uint64_t allocated_bytes;
	uint64_t freed_bytes;
	uint64_t live_bytes;
};
struct tag_counts_sum tag_counts_add_up(const struct tag_counts *t, const struct segment_map *map,
					uint32_t serial);

#endif
