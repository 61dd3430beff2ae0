/* live.h -- the blocks that are live, by address. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A hash table of groups of fifteen. A group's head holds a byte of each block's hash, so that
 * one comparison finds the place in the group, and how many blocks had to go on to later groups
 * because this one was full: a lookup stops where that count is 0, and a removal leaves no mark
 * behind. The loops that remain are rarely taken, which is what the speed rests on: a branch
 * that is guessed wrong costs as much as all else. Heads lie together, apart from the blocks: 8
 * MiB of them for 5 million blocks, so that of the two memory accesses of a lookup one stays
 * near.
 *
 * The groups are cut into shards by the top bits of the hash, which are those of the MiB that the
 * address is in: a program that fills its heap is at work in one shard after the other, and each of
 * them fits a cache. A shard grows by a third or a half, and at 1 MiB splits in two, unless all of
 * it is one MiB of the program: a big table takes 41 to 62 bytes per block (51 at 5 million; little
 * more after a split into unequal halves), and no event ever waits for more than one shard to be
 * rebuilt (a target that is kept waiting gives up on us). */
#ifndef MIDDEN_COLLECT_LIVE_H
#define MIDDEN_COLLECT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/cells.h"
#include "collect/live_tags.h"

#define LIVE_CACHED_BYTES      (1u << 20) /* a shard of at most this size stays in a cache */

#define LIVE_SPAN_SHIFT	       20u /* the address bits that do not choose the shard */
#define LIVE_LOW_BITS	       (UINT64_MAX >> 16) /* of a hash: nor do these */

#define LIVE_RARELY(condition) __builtin_expect(!!(condition), 0)

struct live_block {
	uint64_t ptr;
	uint64_t ticks;
	uint64_t size;
	uint32_t site;
	uint32_t thread;
};

struct live_shard {
	struct live_head *heads; /* and behind the last of them: */
	struct live_block *blocks;
	size_t bytes; /* of heads and blocks */
	uint32_t groups;
	uint32_t count;
	uint32_t most;	/* grow beyond */
	uint32_t least; /* shrink below */
	uint32_t depth; /* how many hash bits its blocks share */
};

struct live {
	/* 1 << depth entries; shards of smaller depth appear repeatedly */
	struct live_shard **directory;
	uint32_t depth;
	uint32_t shift; /* 63 - depth */
	struct cells cells;
	struct live_block removed; /* by live_remove_slowly, which may have moved the others */
	uint64_t bytes_most;	   /* beyond, what the target says cannot be: see `crowded` */
	/* There are more blocks than this machine has memory for, or they have addresses that were
	 * chosen to make lookups slow. The table still works; the caller should stop filling it. */
	bool crowded;
};

void live_init(struct live *t);
void live_fini(struct live *t);

/* Bytes of all shards. */
uint64_t live_get_bytes(const struct live *t);

/* Shows every block to `visit`, which may change all of it but its address. */
void live_visit(struct live *t, void (*visit)(void *context, struct live_block *block),
		void *context);

/* Whether a copy of this process that is forked now has the table too. */
void live_lend(struct live *t, bool lent);

/* The top bits choose the shard. What lies together comes and goes together, so they are those of
 * the address without its last 20 bits; the factor spreads numbers that follow one another evenly.
 * For the rest two rounds of multiply and fold, so that the low half (the group) and the byte above
 * it (the tag) depend on every bit of the address. */
static inline uint64_t live_hash(uint64_t ptr)
{
	uint64_t top = (ptr >> LIVE_SPAN_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = (ptr ^ (ptr >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ (h >> 29)) * UINT64_C(0xd1342543de82ef95);
	h ^= h >> 32;
	return (h & LIVE_LOW_BITS) | (top & ~LIVE_LOW_BITS);
}

static inline struct live_shard *live_get_shard(const struct live *t, uint64_t hash)
{
	return t->directory[(hash >> 1) >> t->shift];
}

/* Groups are known by their index. */
static inline uint32_t live_get_home(const struct live_shard *s, uint64_t hash)
{
	return (uint32_t)(((hash & UINT32_MAX) * s->groups) >> 32);
}

static inline uint32_t live_get_next(const struct live_shard *s, uint32_t group)
{
	return ++group == s->groups ? 0 : group;
}

static inline uint8_t live_get_tag(uint64_t hash)
{
	uint8_t tag = (uint8_t)(hash >> 32);

	return tag ? tag : 1;
}

static inline struct live_block *live_get_block(const struct live_shard *s, uint32_t group,
						uint64_t mask)
{
	return &s->blocks[group * LIVE_GROUP_BLOCKS + live_get_first(mask)];
}

/* The block under this address, or NULL. Valid until the table changes. */
struct live_block *live_find(const struct live *t, uint64_t hash, uint64_t ptr);

/* What live_add and live_remove do where the home group does not settle it: a tag that is
 * another block's, a full group, a shard that needs another size. */
struct live_block *live_add_slowly(struct live *t, uint64_t hash, uint64_t ptr);
const struct live_block *live_remove_slowly(struct live *t, uint64_t hash, uint64_t ptr);

/* A new block, which the caller fills in, ptr too; NULL if the address is taken. */
static inline struct live_block *live_add(struct live *t, uint64_t hash, uint64_t ptr)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t group = live_get_home(s, hash);
	struct live_head *head = &s->heads[group];
	uint8_t tag = live_get_tag(hash);
	uint64_t empty = live_match(head, 0);

	if (LIVE_RARELY(live_match(head, tag) || live_get_passed(head) || !empty ||
			s->count >= s->most))
		return live_add_slowly(t, hash, ptr);
	live_set_tag(head, live_get_first(empty), tag);
	s->count++;
	return live_get_block(s, group, empty);
}

/* Takes a block off the table. Returns what it was, valid until the table changes again; NULL if
 * there is none under this address. */
static inline const struct live_block *live_remove(struct live *t, uint64_t hash, uint64_t ptr)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t group = live_get_home(s, hash);
	struct live_head *head = &s->heads[group];
	uint64_t mask = live_match(head, live_get_tag(hash));

	if (LIVE_RARELY(!mask || live_get_block(s, group, mask)->ptr != ptr ||
			s->count <= s->least))
		return live_remove_slowly(t, hash, ptr);
	live_clear_tag(head, live_get_first(mask));
	s->count--;
	return live_get_block(s, group, mask);
}

/* Whether a lookup is likely to miss the cache. */
static inline bool live_is_big(const struct live *t)
{
	return t->depth > 0 || t->directory[0]->bytes > LIVE_CACHED_BYTES;
}

/* Two steps ahead of a lookup, so that the cache misses of a batch overlap: first for the
 * head... (always_inline because gcc takes a function that only prefetches for one without
 * effect, and drops the calls.) */
static inline __attribute__((always_inline)) void live_prefetch_head(const struct live *t,
								     uint64_t hash)
{
	const struct live_shard *s = live_get_shard(t, hash);

	__builtin_prefetch(&s->heads[live_get_home(s, hash)], 1);
}

/* ...and when it is there, for the block: the one with this tag, or the place for a new one. */
static inline __attribute__((always_inline)) void live_prefetch_block(const struct live *t,
								      uint64_t hash)
{
	const struct live_shard *s = live_get_shard(t, hash);
	uint32_t group = live_get_home(s, hash);
	uint64_t mask = live_match(&s->heads[group], live_get_tag(hash));

	if (!mask)
		mask = live_match(&s->heads[group], 0);
	if (mask)
		__builtin_prefetch(live_get_block(s, group, mask), 1);
}

#endif
