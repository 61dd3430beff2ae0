/* merge_lost.h -- what several recorded programs have lost, and who holds the rest, in one profile.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_LOST_H
#define MIDDEN_MODEL_MERGE_LOST_H

#include "base/map.h"
#include "model/remap.h"
#include "profile/profile.h"

/* Zero-initialise; merge_lost_fini frees. */
struct merge_lost {
	struct map by_class; /* site and class -> row of the merged profile's `lost`, plus one */
};

/* Adds the rows of a recording to those of the same site and class, whose chain is that of the
 * first which has one. `sites` are the numbers of its sites in the merged profile. */
void merge_lost_add(struct merge_lost *m, struct remap *remap, const struct profile *p,
		    struct remap_table *table, const uint32_t *sites);

/* Divides sums by the number of recordings. */
void merge_lost_divide(struct profile *p, uint64_t count);

void merge_lost_fini(struct merge_lost *m);

#endif
