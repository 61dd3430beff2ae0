/* live.c -- the blocks that are live, by address. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/live.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pages.h"

#define BYTES_MIN   (16u << 10) /* most programs stay near it */
#define BYTES_MAX   (1u << 20)	/* rebuilt within a cache */
#define DEPTH_MAX   16u		/* the bits above LIVE_LOW_BITS; beyond, a shard grows on */
#define PASSED_MOST 1024u	/* full groups on the way to a place; by chance there are few */
#define GROUP_BYTES (sizeof(struct live_head) + LIVE_GROUP_BLOCKS * sizeof(struct live_block))

/* How full: with 8 of 15 hardly a group overflows, with 12 one in six. A table that fits a cache
 * can afford the former. */
static uint32_t get_most(const struct live_shard *s)
{
	return s->depth == 0 && s->bytes <= LIVE_CACHED_BYTES ? s->groups * 8 : s->groups * 12;
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

/* A table that has not split is small: it takes its pages from the kernel one by one. */
static bool has_cell(const struct live_shard *s)
{
	return s->bytes >= (s->depth ? CELLS_UNIT_BYTES * 2 : CELLS_UNIT_BYTES * 8);
}

static void set_size(struct live *t, struct live_shard *s, size_t bytes)
{
	s->bytes = bytes;
	s->groups =
		(uint32_t)(bytes / GROUP_BYTES) & ~1u; /* even: no block straddles cache lines */
	s->heads = has_cell(s) ? cells_take(&t->cells, bytes) : pages_new(bytes);
	s->blocks = (void *)(s->heads + s->groups);
	s->most = get_most(s);
	s->least = get_least(s);
	s->count = 0;
	if (has_cell(s))
		memset(s->heads, 0, s->groups * sizeof(*s->heads));
}

static void give_memory_back(struct live *t, const struct live_shard *s)
{
	if (has_cell(s))
		cells_put(&t->cells, s->heads, s->bytes);
	else
		pages_free(s->heads, s->bytes);
}

static struct live_shard *shard_new(struct live *t, size_t bytes, uint32_t depth)
{
	struct live_shard *s = mem_new(1, sizeof(*s));

	s->depth = depth;
	set_size(t, s, bytes);
	return s;
}

static void shard_free(struct live *t, struct live_shard *s)
{
	give_memory_back(t, s);
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

/* A shard that is being filled, and how many blocks its groups have: those of a new one lie at the
 * start of their group, so that no head has to be searched for a place. */
struct filling {
	struct live_shard *shard;
	uint8_t *counts;
};

static struct filling start_filling(struct live_shard *s)
{
	return (struct filling){s, mem_new(s->groups, 1)};
}

static inline void fill_in(const struct filling *f, const struct live_block *block, uint64_t hash)
{
	struct live_shard *s = f->shard;
	uint32_t group = live_get_home(s, hash);

	while (LIVE_RARELY(f->counts[group] == LIVE_GROUP_BLOCKS)) {
		live_count_passed(&s->heads[group]);
		group = live_get_next(s, group);
	}
	uint32_t place = f->counts[group]++;
	live_set_tag(&s->heads[group], place, live_get_tag(hash));
	s->blocks[group * LIVE_GROUP_BLOCKS + place] = *block;
	s->count++;
}

/* All blocks to one of two shards by the hash bit at `shift`. Homes keep their order from one
 * size to another, so both tables are walked from start to end. */
static void move_blocks(const struct live_shard *from, const struct filling to[2], unsigned shift)
{
	for (uint32_t group = 0; group < from->groups; group++) {
		uint64_t mask = live_match_used(&from->heads[group]);

		for (; mask; mask &= mask - 1) {
			const struct live_block *block = live_get_block(from, group, mask);
			uint64_t hash = live_hash(block->ptr);

			fill_in(&to[hash >> shift & 1], block, hash);
		}
	}
}

static void rebuild(struct live *t, struct live_shard *s, size_t bytes)
{
	struct live_shard old = *s;

	set_size(t, s, bytes);
	struct filling f = start_filling(s);
	move_blocks(&old, (struct filling[]){f, f}, 0);
	free(f.counts);
	give_memory_back(t, &old);
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

/* The smallest that leaves some room for more. */
static size_t get_size_for(uint32_t count)
{
	size_t bytes = BYTES_MIN;

	while (bytes / GROUP_BYTES * 12 < count + count / 16)
		bytes = get_next_size(bytes);
	return bytes;
}

/* Replaces a shard by two, each with the blocks of one value of the next hash bit. */
static void split(struct live *t, struct live_shard *s, uint32_t upper, uint64_t hash)
{
	uint32_t depth = s->depth + 1;
	const struct filling half[2] = {
		start_filling(shard_new(t, get_size_for(s->count - upper), depth)),
		start_filling(shard_new(t, get_size_for(upper), depth)),
	};

	move_blocks(s, half, 64 - depth);
	free(half[0].counts);
	free(half[1].counts);
	if (s->depth == t->depth)
		double_directory(t);
	size_t span = get_span(t, s);
	size_t first = (size_t)((hash >> 1) >> t->shift) & ~(span - 1);
	for (size_t i = 0; i < span; i++)
		t->directory[first + i] = half[i >= span / 2].shard;
	shard_free(t, s);
}

static void grow(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);

	uint32_t upper = 0;

	if (s->bytes >= BYTES_MAX && s->depth < DEPTH_MAX)
		upper = count_upper(s, 63 - s->depth);
	if (upper != 0 && upper != s->count)
		split(t, s, upper, hash);
	else
		rebuild(t, s, get_next_size(s->bytes));
	if (live_get_bytes(t) > t->bytes_most)
		t->crowded = true;
}

static void shrink(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);
	size_t bytes = BYTES_MIN;

	while (bytes / GROUP_BYTES * 4 < s->count)
		bytes = get_next_size(bytes);
	rebuild(t, s, bytes);
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
	*t = (struct live){0};
	set_depth(t, 0);
	t->bytes_most = get_bytes_most();
	t->directory = mem_new(1, sizeof(struct live_shard *));
	t->directory[0] = shard_new(t, BYTES_MIN, 0);
}

void live_fini(struct live *t)
{
	size_t span;

	for (size_t i = 0; t->directory && i >> t->depth == 0; i += span) {
		span = get_span(t, t->directory[i]);
		shard_free(t, t->directory[i]);
	}
	cells_fini(&t->cells);
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

static void visit_shard(const struct live_shard *s,
			void (*visit)(void *context, struct live_block *block), void *context)
{
	for (uint32_t group = 0; group < s->groups; group++)
		for (uint64_t mask = live_match_used(&s->heads[group]); mask; mask &= mask - 1)
			visit(context, live_get_block(s, group, mask));
}

void live_visit(struct live *t, void (*visit)(void *context, struct live_block *block),
		void *context)
{
	for (size_t i = 0; i >> t->depth == 0; i += get_span(t, t->directory[i]))
		visit_shard(t->directory[i], visit, context);
}

/* Small shards are in every copy. */
void live_lend(struct live *t, bool lent)
{
	cells_lend(&t->cells, lent);
	for (size_t i = 0; i >> t->depth == 0; i += get_span(t, t->directory[i])) {
		const struct live_shard *s = t->directory[i];

		if (s->bytes > CELLS_SHARED_MOST)
			(lent ? pages_lend : pages_withhold)(s->heads, s->bytes);
	}
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
