/* memo.c -- a table from addresses of foreign data (strings, DIEs) to what was worked out about them. Runs: offline;
 * used inside this room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/memo.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROOM_MIN 64 /* most modules are asked for a few names only */

/* The entry of `key`, or the empty one where it belongs. */
static struct memo_entry *find_place(const struct memo *m, const void *key)
{
	/* Fibonacci hashing: addresses differ in their low bits, the product spreads them to the upper half. */
	size_t at = (size_t)((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	struct memo_entry *entry = &m->entries[at & (m->room - 1)];

	while (entry->key && entry->key != key)
		entry = &m->entries[++at & (m->room - 1)];
	return entry;
}

static void grow(struct memo *m)
{
	struct memo bigger = {.room = m->room ? m->room * 2 : ROOM_MIN, .count = m->count};

	bigger.entries = mem_new(bigger.room, sizeof(*bigger.entries));
	for (size_t i = 0; i < m->room; i++)
		if (m->entries[i].key)
			*find_place(&bigger, m->entries[i].key) = m->entries[i];
	free(m->entries);
	*m = bigger;
}

void **memo_get(struct memo *m, const void *key)
{
	if (m->count * 2 >= m->room)
		grow(m);
	struct memo_entry *entry = find_place(m, key);
	if (!entry->key) {
		entry->key = key;
		m->count++;
	}
	return &entry->value;
}

void memo_free(struct memo *m)
{
	for (size_t i = 0; i < m->room; i++)
		free(m->entries[i].value);
	free(m->entries);
	*m = (struct memo){0};
}
