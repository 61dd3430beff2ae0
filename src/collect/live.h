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
 * The groups are cut into shards by the top bits of the hash. A shard grows by a third or a
 * half, and at 8 MiB splits in two: a big table takes 41 to 62 bytes per block (54 at 5
 * million), and no event ever waits for more than one shard to be rebuilt (a target that is kept
 * waiting gives up on us). */
#ifndef MIDDEN_COLLECT_LIVE_H
#define MIDDEN_COLLECT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LIVE_GROUP_BLOCKS  15u
#define LIVE_PASSED_STICKS 255u
#define LIVE_CACHED_BYTES  (1u << 20) /* a shard of at most this size stays in a cache */

struct live_block {
	uint64_t ptr;
	uint64_t ticks;
	uint64_t size;
	uint32_t site;
	uint32_t thread;
};

struct live_head {
	uint8_t tags[LIVE_GROUP_BLOCKS]; /* 0: an empty place */
	uint8_t passed; /* blocks that were on their way past here when stored; sticks at 255 */
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
};

void live_init(struct live *t);
void live_fini(struct live *t);

/* The slow parts of live_add and live_remove: the shard of this hash gets another size. */
void live_grow(struct live *t, uint64_t hash);
void live_shrink(struct live *t, uint64_t hash);

/* Bytes that the table has from the kernel. */
uint64_t live_get_bytes(const struct live *t);

/* Two rounds of multiply and fold, so that the top bits (the shard), the low half (the group)
 * and the byte between them (the tag) all depend on every bit of the address. */
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

/* The top bits of those bytes of the word that equal the tag. Exact, also where another byte
 * matches: a removed block must not be found by a carry from its neighbour. */
static inline uint64_t live_match_word(uint64_t word, uint8_t tag)
{
	const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);

	word ^= tag * UINT64_C(0x0101010101010101);
	word |= (word & low_bits) + low_bits; /* the top bit of a byte is 0 now if the byte was */
	return ~word & ~low_bits;
}

/* The places whose tag is this, as bits: 8 i for place i, 8 i + 1 for place i + 8. */
static inline uint64_t live_match(const struct live_head *head, uint8_t tag)
{
	uint64_t words[2];

	memcpy(words, head, sizeof(words)); /* with `passed`, the last byte, which is masked out */
	uint64_t high = live_match_word(words[1], tag) & (UINT64_MAX >> 8);
	return live_match_word(words[0], tag) >> 7 | high >> 6;
}

/* The place of one bit of such a mask, which is not 0. */
static inline unsigned live_get_first(uint64_t mask)
{
	unsigned bit = (unsigned)__builtin_ctzll(mask);

	return bit / 8 + (bit & 1) * 8;
}

static inline struct live_block *live_get_block(const struct live_shard *s, uint32_t group,
						uint64_t mask)
{
	return &s->blocks[group * LIVE_GROUP_BLOCKS + live_get_first(mask)];
}

/* NULL if there is none. Valid until the table changes. */
static inline struct live_block *live_find(const struct live *t, uint64_t hash, uint64_t ptr)
{
	const struct live_shard *s = live_get_shard(t, hash);
	uint32_t group = live_get_home(s, hash);
	uint8_t tag = live_get_tag(hash);

	for (uint32_t i = 0; i < s->groups; i++) {
		for (uint64_t mask = live_match(&s->heads[group], tag); mask; mask &= mask - 1)
			if (live_get_block(s, group, mask)->ptr == ptr)
				return live_get_block(s, group, mask);
		if (s->heads[group].passed == 0)
			return NULL;
		group = live_get_next(s, group);
	}
	return NULL;
}

/* The first empty place from the home on; there is one, since no shard gets full. */
static inline struct live_block *live_add_to_shard(struct live_shard *s, uint64_t hash)
{
	uint32_t group = live_get_home(s, hash);
	uint64_t empty;

	while (!(empty = live_match(&s->heads[group], 0))) {
		if (s->heads[group].passed < LIVE_PASSED_STICKS)
			s->heads[group].passed++;
		group = live_get_next(s, group);
	}
	s->heads[group].tags[live_get_first(empty)] = live_get_tag(hash);
	s->count++;
	return live_get_block(s, group, empty);
}

/* A new block under an address that live_find has not found; the caller fills it in, ptr too. */
static inline struct live_block *live_add(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);

	if (__builtin_expect(s->count >= s->most, 0)) {
		live_grow(t, hash);
		s = live_get_shard(t, hash);
	}
	return live_add_to_shard(s, hash);
}

/* Takes out a block that live_find has returned; all pointers into the table are void then. */
static inline void live_remove(struct live *t, uint64_t hash, const struct live_block *block)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t index = (uint32_t)(block - s->blocks);
	uint32_t holder = index / LIVE_GROUP_BLOCKS;
	uint32_t group = live_get_home(s, hash);

	s->heads[holder].tags[index % LIVE_GROUP_BLOCKS] = 0;
	for (; group != holder; group = live_get_next(s, group))
		if (s->heads[group].passed < LIVE_PASSED_STICKS)
			s->heads[group].passed--;
	if (__builtin_expect(--s->count < s->least, 0))
		live_shrink(t, hash);
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
