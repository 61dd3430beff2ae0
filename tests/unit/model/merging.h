/* merging.h -- profiles that are merged, for tests. Runs: in unit tests, after cmocka.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_MERGING_H
#define MIDDEN_TESTS_MERGING_H

#include "model/merge.h"
#include "sample.h"

#define MS UINT64_C(1000000)

/* Merges two profiles and frees them. */
static inline struct profile *merge(struct profile *a, struct profile *b, enum profile_merge mode)
{
	const struct merge_options options = {.mode = mode};
	struct merge *m = merge_new(&options);
	struct error e = {0};

	merge_add(m, a, "a.mdn");
	merge_add(m, b, "b.mdn");
	profile_free(a);
	profile_free(b);
	struct profile *out = merge_finish(m, &e);
	if (!out)
		fail_msg("%s", e.text);
	return out;
}

static inline void add_thread(struct profile *p, uint32_t tid, uint64_t bytes)
{
	struct string_id name = profile_add_string(p, "worker");
	uint32_t serial = (uint32_t)p->threads.count + 1;

	*vec_push(&p->threads) = (struct profile_thread){
		.tid = tid,
		.serial = serial,
		.name = name,
		.end_ns = UINT64_MAX,
		.allocations = 1,
		.allocated_bytes = bytes,
		.lifetime_min_ns = UINT64_MAX,
	};
}

static inline void add_point(struct profile *p, uint64_t time_ns, uint64_t live)
{
	*vec_push(&p->points) = (struct profile_point){
		.time_ns = time_ns, .live_bytes = live, .live_blocks = 1, .peak_bytes = live};
	*vec_push(&p->changes) = (struct profile_change){
		.point = (uint32_t)p->points.count - 1, .live_bytes = live, .live_blocks = 1};
}

#endif
