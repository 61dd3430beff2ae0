/* lifetimes.c -- histograms: sizes, and for freed blocks size by lifetime. Runs: in the
 * collector, for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/lifetimes.h"

#include <string.h>

void lifetimes_sum(const struct lifetimes *l, uint64_t *count, uint64_t *bytes)
{
	*count = *bytes = 0;
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		*count += l->sizes[i].count;
		*bytes += l->sizes[i].bytes;
	}
}

static uint64_t count_freed(const struct lifetimes *l, unsigned size_bucket)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < PROFILE_LIFE_BUCKETS; i++)
		count += l->size_by_life[size_bucket][i];
	return count;
}

void lifetimes_build(const struct lifetimes *l, struct profile *p)
{
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++)
		p->sizes[i] = (struct profile_bucket){
			.count = l->sizes[i].count,
			.bytes = l->sizes[i].bytes,
			.live_count = l->sizes[i].count - count_freed(l, i),
			.live_bytes = l->sizes[i].bytes - l->sizes[i].freed_bytes,
		};
	memcpy(p->size_by_life, l->size_by_life, sizeof(p->size_by_life));
}
