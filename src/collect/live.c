/* live.c -- the blocks that are live, by address. Runs: in the collector process, one thread, for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/live.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pages.h"

#define ROOM_MIN  1024u   /* 32 KiB: most programs stay near it */
#define ROOM_MAX  262144u /* 8 MiB: rebuilt in a few ms */
#define DEPTH_MAX 16u     /* 65536 shards; beyond, a shard grows on instead of splitting */

/* Load factors. At 4/5 a lookup probes three places, within two cache lines. */
static uint32_t get_most(uint32_t room)
{
	return room / 5 * 4;
}

/* Rebuilt smaller only when the blocks would fill a fifth of the smaller one: no flutter. */
static uint32_t get_least(uint32_t room)
{
	return room <= ROOM_MIN ? 0 : room / 10;
}

/* Sizes go 1024, 1536, 2048, 3072, ...: finer than doubling, so less stands empty. */
static uint32_t get_next_room(uint32_t room)
{
	return (room & (room - 1)) ? room / 3 * 4 : room / 2 * 3;
}

static size_t get_bytes(uint32_t room)
{
	return (size_t)room * sizeof(struct live_block);
}

static void set_room(struct live_shard *s, uint32_t room)
{
	s->at = pages_new(get_bytes(room));
	s->room = room;
	s->most = get_most(room);
	s->least = get_least(room);
	s->count = 0;
}

static struct live_shard *shard_new(uint32_t room, uint32_t depth)
{
	struct live_shard *s = mem_new(1, sizeof(*s));

	set_room(s, room);
	s->depth = depth;
	return s;
}

static void shard_free(struct live_shard *s)
{
	pages_free(s->at, get_bytes(s->room));
	free(s);
}

static inline uint32_t get_next(const struct live_shard *s, uint32_t i)
{
	return ++i == s->room ? 0 : i;
}

/* The place of the block, or the empty place where it would go. */
static inline uint32_t probe(const struct live_shard *s, uint64_t hash, uint64_t ptr)
{
	uint32_t i = live_get_home(s, hash);

	while (s->at[i].ptr && s->at[i].ptr != ptr)
		i = get_next(s, i);
	return i;
}

static void put(struct live_shard *s, uint64_t hash, const struct live_block *block)
{
	s->at[probe(s, hash, block->ptr)] = *block;
	s->count++;
}

/* Gives the shard another size. Homes keep their order, so both tables are walked from start to end. */
static void rebuild(struct live_shard *s, uint32_t room)
{
	struct live_shard old = *s;

	set_room(s, room);
	for (uint32_t i = 0; i < old.room; i++)
		if (old.at[i].ptr)
			put(s, live_hash(old.at[i].ptr), &old.at[i]);
	pages_free(old.at, get_bytes(old.room));
}

static void double_directory(struct live *t)
{
	size_t count = (size_t)1 << t->depth;
	struct live_shard **directory = mem_new(count * 2, sizeof(struct live_shard *));

	for (size_t i = 0; i < count * 2; i++)
		directory[i] = t->directory[i / 2];
	free(t->directory);
	t->directory = directory;
	t->depth++;
}

/* Replaces a shard by two, each with the blocks of one value of the next hash bit. */
static void split(struct live *t, struct live_shard *s, uint64_t hash)
{
	if (s->depth == t->depth)
		double_directory(t);

	uint32_t depth = s->depth + 1;
	struct live_shard *half[2] = {shard_new(s->room / 4 * 3, depth),
				      shard_new(s->room / 4 * 3, depth)};
	for (uint32_t i = 0; i < s->room; i++) {
		if (!s->at[i].ptr)
			continue;
		uint64_t h = live_hash(s->at[i].ptr);
		put(half[(h >> (64 - depth)) & 1], h, &s->at[i]);
	}

	size_t span = (size_t)1 << (t->depth - s->depth);
	size_t first = (size_t)((hash >> 1) >> (63 - t->depth)) & ~(span - 1);
	for (size_t i = 0; i < span; i++)
		t->directory[first + i] = half[i >= span / 2];
	shard_free(s);
}

static void grow(struct live *t, struct live_shard *s, uint64_t hash)
{
	if (s->room >= ROOM_MAX && s->depth < DEPTH_MAX)
		split(t, s, hash);
	else
		rebuild(s, get_next_room(s->room));
}

/* Back to a load near a half, where it can grow and shrink for a while without another rebuild. */
static void shrink(struct live_shard *s)
{
	uint32_t room = ROOM_MIN;

	while (room < s->count * 2)
		room = get_next_room(room);
	rebuild(s, room);
}

void live_init(struct live *t)
{
	t->depth = 0;
	t->directory = mem_new(1, sizeof(struct live_shard *));
	t->directory[0] = shard_new(ROOM_MIN, 0);
}

/* The number of directory entries that lead to this shard, the first of which is at hand. */
static size_t get_span(const struct live *t, const struct live_shard *s)
{
	return (size_t)1 << (t->depth - s->depth);
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

struct live_block *live_find(const struct live *t, uint64_t hash, uint64_t ptr)
{
	const struct live_shard *s = live_get_shard(t, hash);
	struct live_block *block = &s->at[probe(s, hash, ptr)];

	return block->ptr ? block : NULL;
}

struct live_block *live_add(struct live *t, uint64_t hash, const struct live_block *block)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t i = probe(s, hash, block->ptr);

	if (s->at[i].ptr)
		return &s->at[i];
	s->at[i] = *block;
	if (++s->count > s->most)
		grow(t, s, hash);
	return NULL;
}

/* Moves later blocks of the run back into the gap, so that no probe ever meets a hole before its block. */
static void close_gap(struct live_shard *s, uint32_t gap)
{
	for (uint32_t i = get_next(s, gap); s->at[i].ptr; i = get_next(s, i)) {
		uint32_t home = live_get_home(s, live_hash(s->at[i].ptr));
		bool stays = gap < i ? gap < home && home <= i : gap < home || home <= i;

		if (stays)
			continue;
		s->at[gap] = s->at[i];
		gap = i;
	}
	s->at[gap].ptr = 0;
}

bool live_remove(struct live *t, uint64_t hash, uint64_t ptr, struct live_block *out)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t i = probe(s, hash, ptr);

	if (!s->at[i].ptr)
		return false;
	*out = s->at[i];
	close_gap(s, i);
	if (--s->count < s->least)
		shrink(s);
	return true;
}

uint64_t live_get_bytes(const struct live *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i >> t->depth == 0; i += get_span(t, t->directory[i]))
		bytes += get_bytes(t->directory[i]->room);
	return bytes;
}
