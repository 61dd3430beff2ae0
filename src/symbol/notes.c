/* notes.c -- what was worked out about foreign data (strings, DIEs), by its address.
 * Runs: offline; used inside this room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/notes.h"

void **notes_get(struct notes *m, const void *key)
{
	uint32_t *number = map_reserve(&m->index, (uintptr_t)key);

	if (!*number) {
		*vec_push(&m->values) = NULL;
		*number = (uint32_t)m->values.count;
	}
	return &m->values.at[*number - 1];
}

void notes_free(struct notes *m)
{
	for (size_t i = 0; i < m->values.count; i++)
		free(m->values.at[i]);
	vec_free(&m->values);
	map_free(&m->index);
}
