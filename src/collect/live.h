/* live.h -- the blocks that are live, by address. Runs: in the collector process, one thread, for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing, cut into shards by the top bits of the hash. A shard grows by a third
 * or a half, and at 8 MiB splits in two: the table takes 40 to 60 bytes per block at any size, and no event
 * ever waits for more than one shard to be rebuilt (a target that is kept waiting gives up on us). */
#ifndef MIDDEN_COLLECT_LIVE_H
#define MIDDEN_COLLECT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Two per cache line. */
struct live_block {
	uint64_t ptr; /* 0: an empty place */
	uint64_t ticks;
	uint64_t size;
	uint32_t site;
	uint32_t thread;
};

struct live_shard {
	struct live_block *at;
	uint32_t room;
	uint32_t count;
	uint32_t most;  /* grow beyond */
	uint32_t least; /* shrink below */
	uint32_t depth; /* how many hash bits its blocks share */
};

struct live {
	struct live_shard **directory; /* 1 << depth entries; shards of smaller depth appear repeatedly */
	uint32_t depth;
};

void live_init(struct live *t);
void live_fini(struct live *t);

/* Puts the block in under block->ptr (not 0). If the address is taken, changes nothing and returns the block that
 * has it; otherwise NULL. Returned pointers are valid until the next call. */
struct live_block *live_add(struct live *t, uint64_t hash, const struct live_block *block);

/* Takes the block out and copies it to `out`; false if there is none. */
bool live_remove(struct live *t, uint64_t hash, uint64_t ptr, struct live_block *out);

struct live_block *live_find(const struct live *t, uint64_t hash, uint64_t ptr);

/* Bytes that the table has from the kernel. */
uint64_t live_get_bytes(const struct live *t);

/* Two rounds of multiply and fold, so that the top bits (the shard) and the low half (the place in it) both
 * depend on every bit of the address. */
static inline uint64_t live_hash(uint64_t ptr)
{
	uint64_t h = (ptr ^ (ptr >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ (h >> 29)) * UINT64_C(0xd1342543de82ef95);
	return h ^ (h >> 32);
}

static inline struct live_shard *live_get_shard(const struct live *t, uint64_t hash)
{
	return t->directory[(hash >> 1) >> (63 - t->depth)];
}

static inline uint32_t live_get_home(const struct live_shard *s, uint64_t hash)
{
	return (uint32_t)(((hash & UINT32_MAX) * s->room) >> 32);
}

/* Called a batch ahead of the lookup, so that the cache misses of a batch overlap. */
static inline void live_prefetch(const struct live *t, uint64_t hash)
{
	const struct live_shard *s = live_get_shard(t, hash);

	__builtin_prefetch(&s->at[live_get_home(s, hash)], 1);
}

#endif
