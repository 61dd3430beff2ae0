/* merge_depths.h -- the deepest stacks of several recordings in one profile. Runs: offline; called
 * by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_DEPTHS_H
#define MIDDEN_MODEL_MERGE_DEPTHS_H

#include "base/map.h"
#include "model/remap.h"
#include "profile/profile.h"

/* Adds the stacks of a recording's threads. Of threads that are taken for one the deeper stack
 * stays, whatever the mode: a stack is no sum. `serials` are those of merge_threads_add. */
void merge_depths_add(struct profile *to, const struct profile *p, const struct remap_table *table,
		      struct map *serials);

/* Puts them in order when all are there. */
void merge_depths_finish(struct profile *p);

#endif
