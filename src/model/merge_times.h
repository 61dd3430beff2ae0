/* merge_times.h -- the time lines of several recordings made one.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_TIMES_H
#define MIDDEN_MODEL_MERGE_TIMES_H

#include "profile/profile.h"

#define MERGE_TIMES_POINTS    512u     /* as many as a recording has */
#define MERGE_TIMES_CHANGES   4000000u /* the same; with more, the points get fewer */
#define MERGE_TIMES_SNAPSHOTS 4096u    /* the same; their points stay, and come on top */

/* Zero-initialise; merge_times_fini frees. */
struct merge_times {
	VEC(struct profile_point) points;
	VEC(struct profile_change) changes;
	VEC(struct profile_snapshot) snapshots;
};

/* How a recording is put into the merged one. */
struct merge_times_input {
	const struct profile *profile;
	const uint32_t *sites; /* by its sites: the number in the merged profile */
	size_t site_count;     /* of the merged profile */
	const struct profile_snapshot *snapshots; /* at its points, otherwise as merged */
	size_t snapshot_count;
	uint64_t shift_ns; /* what its start is behind the merged one's */
	enum profile_merge mode;
};

/* Adds a recording. At every point of either the live figures of both are known: those of the last
 * point before it. What lies between two points that are kept goes to the later one. A snapshot has
 * what all had at its moment. */
void merge_times_add(struct merge_times *t, const struct merge_times_input *in);

/* Moves all there is to a later time. */
void merge_times_shift(struct merge_times *t, uint64_t by_ns);

/* Divides sums by the number of recordings. */
void merge_times_divide(struct merge_times *t, uint64_t count);

void merge_times_fini(struct merge_times *t);

/* A time later; stops at the end of time, so that no hostile start turns the order round. */
static inline uint64_t merge_times_later(uint64_t time_ns, uint64_t by_ns)
{
	return time_ns > UINT64_MAX - by_ns ? UINT64_MAX : time_ns + by_ns;
}

#endif
