/* live.c -- the blocks that are live, by address. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/live.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pages.h"

#define ROOM_MIN  64u    /* groups: 16 KiB, most programs stay near it */
#define ROOM_MAX  32768u /* 8 MiB: rebuilt in a few ms */
#define DEPTH_MAX 16u    /* 65536 shards; beyond, a shard grows on instead of splitting */

/* How full: at 4 of 7 one group in 17 is full, at 5.6 one in 4. What fits a cache can afford the
 * former. */
static uint32_t get_most(uint32_t room)
{
	return room <= LIVE_CACHED_GROUPS ? room * 4 : room / 5 * 28;
}

/* Shrunk to two blocks per group at half a block: it can double or halve from there without
 * another rebuild. */
static uint32_t get_least(uint32_t room)
{
	return room <= ROOM_MIN ? 0 : room / 2;
}

/* Sizes go 64, 96, 128, 192, ...: finer than doubling, so less stands empty. */
static uint32_t get_next_room(uint32_t room)
{
	return (room & (room - 1)) ? room / 3 * 4 : room / 2 * 3;
}

static size_t get_bytes(uint32_t room)
{
	return (size_t)room * sizeof(struct live_group);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static void set_room(struct live_shard *s, uint32_t room)
{
	s->groups = pages_new(get_bytes(room));
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
	pages_free(s->groups, get_bytes(s->room));
	free(s);
}

/* By the hash bit at `shift`, to one shard or the other. Homes keep their order from one size to
 * another, so both tables are walked from start to end. */
static void move_group(const struct live_group *g, struct live_shard *const to[2], unsigned shift)
{
	for (unsigned i = 0; i < LIVE_GROUP_BLOCKS; i++) {
		if (!g->tags[i])
			continue;
		uint64_t hash = live_hash(g->blocks[i].ptr);
		*live_add_to_shard(to[hash >> shift & 1], hash) = g->blocks[i];
	}
}

static void rebuild(struct live_shard *s, uint32_t room)
{
	struct live_shard old = *s;
	struct live_shard *const to[2] = {s, s};

	set_room(s, room);
	for (uint32_t i = 0; i < old.room; i++)
		move_group(&old.groups[i], to, 0);
	pages_free(old.groups, get_bytes(old.room));
}

/* ---- the directory --------------------------------------------------------------------------- */

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

/* The number of directory entries that lead to this shard. */
static size_t get_span(const struct live *t, const struct live_shard *s)
{
	return (size_t)1 << (t->depth - s->depth);
}

/* Replaces a shard by two, each with the blocks of one value of the next hash bit. */
static void split(struct live *t, struct live_shard *s, uint64_t hash)
{
	uint32_t depth = s->depth + 1;
	struct live_shard *const half[2] = {shard_new(s->room / 4 * 3, depth),
					    shard_new(s->room / 4 * 3, depth)};

	for (uint32_t i = 0; i < s->room; i++)
		move_group(&s->groups[i], half, 64 - depth);

	if (s->depth == t->depth)
		double_directory(t);
	size_t span = get_span(t, s);
	size_t first = (size_t)((hash >> 1) >> (63 - t->depth)) & ~(span - 1);
	for (size_t i = 0; i < span; i++)
		t->directory[first + i] = half[i >= span / 2];
	shard_free(s);
}

void live_grow(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);

	if (s->room >= ROOM_MAX && s->depth < DEPTH_MAX)
		split(t, s, hash);
	else
		rebuild(s, get_next_room(s->room));
}

void live_shrink(struct live *t, uint64_t hash)
{
	struct live_shard *s = live_get_shard(t, hash);
	uint32_t room = ROOM_MIN;

	while (room * 2 < s->count)
		room = get_next_room(room);
	rebuild(s, room);
}

/* ---- the table ------------------------------------------------------------------------------- */

void live_init(struct live *t)
{
	t->depth = 0;
	t->directory = mem_new(1, sizeof(struct live_shard *));
	t->directory[0] = shard_new(ROOM_MIN, 0);
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
		bytes += get_bytes(t->directory[i]->room);
	return bytes;
}
