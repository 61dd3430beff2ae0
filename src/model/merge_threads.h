/* merge_threads.h -- the threads of several recordings in one profile. Runs: offline; called by
 * merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_THREADS_H
#define MIDDEN_MODEL_MERGE_THREADS_H

#include "base/map.h"
#include "model/remap.h"
#include "profile/profile.h"

/* Zero-initialise; merge_threads_fini frees. */
struct merge_threads {
	struct map by_name; /* name, which of that name -> thread of the merged profile, plus one */
};

/* A recording that is put into the merged one. */
struct merge_threads_input {
	const struct profile *profile;
	struct remap_table *table;
	uint32_t first_input; /* inputs that were there before */
	uint64_t shift_ns;    /* what its start is behind the merged one's */
	enum profile_merge mode;
};

/* Adds the threads of a recording: in a sum all stay apart, for they are those of different
 * processes; otherwise they are taken to be those of the runs before, by their names and, where
 * several have one name, by their order. Fills `serials` with the merged serial of each, by its
 * own. */
void merge_threads_add(struct merge_threads *t, struct remap *remap,
		       const struct merge_threads_input *in, struct map *serials);

/* The merged serial of a thread, 0 if it is not known. */
uint32_t merge_threads_find(struct map *serials, uint32_t serial);

void merge_threads_fini(struct merge_threads *t);

#endif
