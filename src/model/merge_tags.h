/* merge_tags.h -- what several recordings counted by tag, in one profile. Runs: offline; called by
 * merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_TAGS_H
#define MIDDEN_MODEL_MERGE_TAGS_H

#include "base/map.h"
#include "model/remap.h"
#include "profile/profile.h"

/* Zero-initialise; merge_tags_fini frees. */
struct merge_tags {
	struct map by_path; /* thread or parent, name -> row of the merged profile, plus one */
};

/* Adds the counts that a recording ended with, to those of the same thread and path; those of its
 * snapshots are left out. `serials` are those of merge_threads_add. */
void merge_tags_add(struct merge_tags *t, struct remap *remap, const struct profile *p,
		    struct remap_table *table, struct map *serials);

/* Divides sums by the number of recordings. */
void merge_tags_divide(struct profile *p, uint64_t count);

void merge_tags_fini(struct merge_tags *t);

#endif
