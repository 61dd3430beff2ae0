/* lifetimes.h -- histograms: sizes, and for freed blocks size by lifetime. Runs: in the
 * collector, for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LIFETIMES_H
#define MIDDEN_COLLECT_LIFETIMES_H

#include <stdint.h>

#include "profile/profile.h"

struct lifetimes {
	struct {
		uint64_t count;
		uint64_t bytes;
		uint64_t freed_bytes;
	} sizes[PROFILE_SIZE_BUCKETS];
	uint64_t size_by_life[PROFILE_SIZE_BUCKETS][PROFILE_LIFE_BUCKETS];
};

/* 0 for 0, i for 2^(i-1) <= value < 2^i: the highest bit of twice the value, so that 0 needs no
 * branch. Nothing that is measured has its top bit set. */
static inline unsigned lifetimes_get_bucket(uint64_t value)
{
	return 63u - (unsigned)__builtin_clzll(value * 2 + 1);
}

static inline void lifetimes_add(struct lifetimes *l, uint64_t size)
{
	unsigned bucket = lifetimes_get_bucket(size);

	l->sizes[bucket].count++;
	l->sizes[bucket].bytes += size;
}

static inline void lifetimes_remove(struct lifetimes *l, uint64_t size, uint64_t life_ns)
{
	unsigned bucket = lifetimes_get_bucket(size);

	l->sizes[bucket].freed_bytes += size;
	l->size_by_life[bucket][lifetimes_get_bucket(life_ns)]++;
}

/* The same for a block of `size` that stands for `blocks` with so many bytes. */
static inline void lifetimes_add_many(struct lifetimes *l, uint64_t size, uint64_t bytes,
				      uint64_t blocks)
{
	unsigned bucket = lifetimes_get_bucket(size);

	l->sizes[bucket].count += blocks;
	l->sizes[bucket].bytes += bytes;
}

static inline void lifetimes_remove_many(struct lifetimes *l, uint64_t size, uint64_t bytes,
					 uint64_t blocks, uint64_t life_ns)
{
	unsigned bucket = lifetimes_get_bucket(size);

	l->sizes[bucket].freed_bytes += bytes;
	l->size_by_life[bucket][lifetimes_get_bucket(life_ns)] += blocks;
}

/* What lifetimes_add was told in all. */
void lifetimes_sum(const struct lifetimes *l, uint64_t *count, uint64_t *bytes);

/* Copies both histograms into the profile. */
void lifetimes_build(const struct lifetimes *l, struct profile *p);

#endif
