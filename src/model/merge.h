/* merge.h -- several profiles made one: processes, ranks, repeated runs.
 * Runs: offline; one input at a time is in memory. Called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_H
#define MIDDEN_MODEL_MERGE_H

#include "profile/profile.h"

struct merge_options {
	enum profile_merge mode; /* sum, maximum or mean of every figure of every stack */
	bool align_starts;	 /* times count from each recording's own start, not by the clock */
};

struct merge;

/* Never NULL; merge_finish or merge_free frees it. */
struct merge *merge_new(const struct merge_options *options);
void merge_free(struct merge *m);

/* Adds a profile, which is not needed afterwards. `name` is what its input is called. Code is the
 * same if it is at the same place of the same build of a file, wherever that was loaded. */
void merge_add(struct merge *m, const struct profile *p, const char *name);

/* The merged profile, to be freed with profile_free; frees the merge. NULL with `e` if nothing was
 * added or it became larger than a profile can be.
 *
 * Sum: every figure is the sum; so the peak is the sum of the peaks, which is more than was ever
 * held at once unless all peaked together. Maximum: of each stack in any of the inputs. Mean:
 * rounded for each stack. In all modes the totals are what the stacks come to. The time line has
 * what was live at each moment; what a process did not free stays in it after its end. */
struct profile *merge_finish(struct merge *m, struct error *e);

#endif
