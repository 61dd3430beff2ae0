/* map.c -- a hash table from 64-bit keys to 32-bit numbers other than 0. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_ROOM 64u

/* The finaliser of splitmix64: every bit of the key reaches the low bits that choose the place. */
static uint64_t mix(uint64_t key)
{
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return key ^ key >> 31;
}

/* Where the key is, or the empty place where it belongs. */
static size_t find_place(const struct map *m, uint64_t key)
{
	size_t place = (size_t)mix(key) & (m->room - 1);

	while (m->values[place] && m->keys[place] != key)
		place = (place + 1) & (m->room - 1);
	return place;
}

static void grow(struct map *m)
{
	struct map grown = {.room = m->room ? m->room * 2 : FIRST_ROOM, .count = m->count};

	grown.keys = mem_new(grown.room, sizeof(*grown.keys));
	grown.values = mem_new(grown.room, sizeof(*grown.values));
	for (size_t i = 0; i < m->room; i++) {
		if (!m->values[i])
			continue;
		size_t place = find_place(&grown, m->keys[i]);
		grown.keys[place] = m->keys[i];
		grown.values[place] = m->values[i];
	}
	map_free(m);
	*m = grown;
}

uint32_t *map_reserve(struct map *m, uint64_t key)
{
	if (m->count >= m->room / 2)
		grow(m);

	size_t place = find_place(m, key);
	if (!m->values[place]) {
		m->keys[place] = key;
		m->count++;
	}
	return &m->values[place];
}

void map_free(struct map *m)
{
	free(m->keys);
	free(m->values);
	memset(m, 0, sizeof(*m));
}

uint64_t map_hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return mix(hash);
}
