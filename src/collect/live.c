/* live.c -- the blocks that are live, by address. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/live.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pages.h"

#define BYTES_MIN   (16u << 10) /* most programs stay near it */
#define BYTES_MAX   (8u << 20)	/* rebuilt in a few ms */
#define DEPTH_MAX   16u		/* 65536 shards; beyond, a shard grows on instead of splitting */
#define PASSED_MOST 1024u	/* full groups on the way to a place; by chance there are few */
#define GROUP_BYTES (sizeof(struct live_head) + LIVE_GROUP_BLOCKS * sizeof(struct live_block))

/* How full: with 8 of 15 hardly a group overflows, with 12 one in six. What fits a cache can
 * afford the former. */
static uint32_t get_most(const struct live_shard *s)
{
	return s->bytes <= LIVE_CACHED_BYTES ? s->groups * 8 : s->groups * 12;
}

/* Shrunk to four blocks per group at one: it can double or halve from there without another
 * rebuild. */
static uint32_t get_least(const struct live_shard *s)
{
	return s->bytes <= BYTES_MIN ? 0 : s->groups;
}

/* Sizes go 16, 24, 32, 48, ... KiB: finer than doubling, so less stands empty. */
static size_t get_next_size(size_t bytes)
{
	return (bytes & (bytes - 1)) ? bytes / 3 * 4 : bytes / 2 * 3;
}

/* ---- shards ---------------------------------------------------------------------------------- */

static void set_size(struct live_shard *s, size_t bytes)
{
	s->bytes = bytes;
	s->groups =
		(uint32_t)(bytes / GROUP_BYTES) & ~1u; /* even: no block straddles cache lines */
	s->heads = pages_new(bytes);
	s->blocks = (void *)(s->heads + s->groups);
	s->most = get_most(s);
	s->least = get_least(s);
	s->count = 0;
}

static struct live_shard *shard_new(size_t bytes, uint32_t depth)
{
	struct live_shard *s = mem_new(1, sizeof(*s));

	set_size(s, bytes);
	s->depth = depth;
	return s;
}

static void shard_free(struct live_shard *s)
{
	pages_free(s->heads, s->bytes);
	free(s);
}

/* The first empty place from the home on; there is one, since no shard gets full. `passed` gets the
 * number of full groups on the way. */
static struct live_block *add_to_shard(struct live_shard *s, uint64_t hash, uint32_t *passed)
{
	uint32_t group = live_get_home(s, hash);
	uint64_t empty;

	for (*passed = 0; !(empty = live_match(&s->heads[group], 0)); ++*passed) {
		live_count_passed(&s->heads[group]);
		group = live_get_next(s, group);
	}
	live_set_tag(&s->heads[group], live_get_first(empty), live_get_tag(hash));
	s->count++;
	return live_get_block(s, group, empty);
}

static void remove_from_shard(struct live_shard *s, uint64_t hash, const struct live_block *block)
{
	uint32_t index = (uint32_t)(block - s->blocks);
	uint32_t holder = index / LIVE_GROUP_BLOCKS;
	uint32_t group = live_get_home(s, hash);

	live_clear_tag(&s->heads[holder], index % LIVE_GROUP_BLOCKS);
	for (; group != holder; group = live_get_next(s, group))
		live_uncount_passed(&s->heads[group]);
	s->count--;
}

/* All blocks to one of two shards by the hash bit at `shift`. Homes keep their order from one
 * size to another, so both tables are walked from start to end. */
static void move_blocks(const struct live_shard *from, struct live_shard *const to[2],
			unsigned shift)
{
	for (uint32_t group = 0; group < from->groups; group++) {
		uint64_t mask = live_match_used(&from->heads[group]);

		for (; mask; mask &= mask - 1) {
			const struct live_block *block = live_get_block(from, group, mask);
			uint64_t hash = live_hash(block->ptr);
			uint32_t passed;

			*add_to_shard(to[hash >> shift & 1], hash, &passed) = *block;
		}
	}
}

static void rebuild(struct live_shard *s, size_t bytes)
{
	struct live_shard old = *s;
	struct live_shard *const to[2] = {s, s};

	set_size(s, bytes);
	move_blocks(&old, to, 0);
	pages_free(old.heads, old.bytes);
}

/* ---- the directory --------------------------------------------------------------------------- */

static void set_depth(struct live *t, uint32_t depth)
{
	t->depth = depth;
	t->shift = 63 - depth;
}

static void double_directory(struct live *t)
{
	size_t count = (size_t)1 << t->depth;
	struct live_shard **directory = mem_new(count * 2, sizeof(struct live_shard *));

	for (size_t i = 0; i < count * 2; i++)
		directory[i] = t->directory[i / 2];
	free(t->directory);
	t->directory = directory;
	set_depth(t, t->depth + 1);
}

/* The number of directory entries that lead to this shard. */
static size_t get_span(const struct live *t, const struct live_shard *s)
{
	return (size_t)1 << (t->depth - s->depth);
}

/* The blocks whose hash bit at `shift` is set. */
static uint32_t count_upper(const struct live_shard *s, unsigned shift)
{
	uint64_t count = 0;

	for (uint32_t group = 0; group < s->groups; group++)
		for (uint64_t mask = live_match_used(&s->heads[group]); mask; mask &= mask - 1)
			count += live_hash(live_get_block(s, group, mask)->ptr) >> shift & 1;
	return (uint32_t)count;
}

/* About half of the blocks go each way, unless a hostile target has chosen its addresses. */
static size_t get_half_size(const struct live_shard *s, uint32_t count)
{
	return count > s->most / 8 * 5 ? s->bytes : s->bytes / 4 * 3;
}

/* Replaces a shard by two, each with the blocks of one value of the next hash bit. */
static void split(struct live *t, struct live_shard *s, uint64_t hash)
{
	uint32_t depth = s->depth + 1;
	uint32_t upper = count_upper(s, 64 - depth);
	struct live_shard *const half[2] = {shard_new(get_half_size(s, s->count - upper), depth),
					    shard_new(get_half_size(s, upper), depth)};

	move_blocks(s, half, 64 - depth);
	if (s->depth == t->depth)
		double_directory(t);
	size_t span = get_span(t, s);
	size_t first = (size_t)((hash >> 1) >> t->shift) & ~(span - 1);
	for (size_t i = 0; i < span; i++)
		t->directory[first + i] = half[i >= span / 2];
	shard_free(s);
}

static void grow(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);

	if (s->bytes >= BYTES_MAX && s->depth < DEPTH_MAX)
		split(t, s, hash);
	else
		rebuild(s, get_next_size(s->bytes));
	if (live_get_bytes(t) > t->bytes_most)
		t->crowded = true;
}

static void shrink(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);
	size_t bytes = BYTES_MIN;

	while (bytes / GROUP_BYTES * 4 < s->count)
		bytes = get_next_size(bytes);
	rebuild(s, bytes);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Half of the machine's memory: the program's own blocks take at least as much. */
static uint64_t get_bytes_most(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_MAX;
}

void live_init(struct live *t)
{
	set_depth(t, 0);
	t->bytes_most = get_bytes_most();
	t->crowded = false;
	t->directory = mem_new(1, sizeof(struct live_shard *));
	t->directory[0] = shard_new(BYTES_MIN, 0);
}

void live_fini(struct live *t)
{
	size_t span;

	for (size_t i = 0; t->directory && i >> t->depth == 0; i += span) {
		span = get_span(t, t->directory[i]);
		shard_free(t->directory[i]);
	}
	free(t->directory);
	t->directory = NULL;
}

uint64_t live_get_bytes(const struct live *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i >> t->depth == 0; i += get_span(t, t->directory[i]))
		bytes += t->directory[i]->bytes;
	return bytes;
}

/* ---- beyond the home group ------------------------------------------------------------------- */

struct live_block *live_find(const struct live *t, uint64_t hash, uint64_t ptr)
{
	const struct live_shard *s = live_get_shard(t, hash);
	uint32_t group = live_get_home(s, hash);
	uint8_t tag = live_get_tag(hash);

	for (uint32_t i = 0; i < s->groups; i++) {
		for (uint64_t mask = live_match(&s->heads[group], tag); mask; mask &= mask - 1)
			if (live_get_block(s, group, mask)->ptr == ptr)
				return live_get_block(s, group, mask);
		if (live_get_passed(&s->heads[group]) == 0)
			return NULL;
		group = live_get_next(s, group);
	}
	return NULL;
}

struct live_block *live_add_slowly(struct live *t, uint64_t hash, uint64_t ptr)
{
	const struct live_shard *s = live_get_shard(t, hash);

	if (live_find(t, hash, ptr))
		return NULL;
	if (s->count >= s->most)
		grow(t, hash);
	uint32_t passed;
	struct live_block *block = add_to_shard(live_get_shard(t, hash), hash, &passed);
	if (passed > PASSED_MOST)
		t->crowded = true;
	return block;
}

const struct live_block *live_remove_slowly(struct live *t, uint64_t hash, uint64_t ptr)
{
	struct live_shard *s = live_get_shard(t, hash);
	const struct live_block *block = live_find(t, hash, ptr);

	if (!block)
		return NULL;
	t->removed = *block;
	remove_from_shard(s, hash, block);
	if (s->count < s->least)
		shrink(t, hash);
	return &t->removed;
}
