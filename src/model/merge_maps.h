/* merge_maps.h -- what several recorded programs mapped themselves, in one profile. Runs: offline;
 * called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_MAPS_H
#define MIDDEN_MODEL_MERGE_MAPS_H

#include "base/map.h"
#include "model/remap.h"
#include "profile/profile.h"

/* Zero-initialise; merge_maps_fini frees. */
struct merge_maps {
	struct map by_place; /* node and kind -> row of the merged profile's maps, plus one */
};

/* Adds the maps of a recording to those of the same stack and kind. Times of peaks are `shift_ns`
 * later there. */
void merge_maps_add(struct merge_maps *m, struct profile *to, const struct profile *p,
		    const struct remap_table *table, uint64_t shift_ns);

/* What is there moves by so much. */
void merge_maps_shift(struct profile *p, uint64_t by_ns);

/* Makes means of sums, and the totals what the stacks come to. */
void merge_maps_finish(struct profile *p, uint64_t count);

void merge_maps_fini(struct merge_maps *m);

#endif
