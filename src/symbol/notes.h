/* notes.h -- what was worked out about foreign data (strings, DIEs), by its address.
 * Runs: offline; used inside this room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_NOTES_H
#define MIDDEN_SYMBOL_NOTES_H

#include "base/map.h"
#include "base/vec.h"

/* Zero-initialise. */
struct notes {
	struct map index;   /* address -> index into values, plus one */
	VEC(void *) values; /* NULL: nothing worked out yet; from malloc, freed with the notes */
};

/* The place of the value of `key`, added with NULL if it is new. Valid until the next call. */
void **notes_get(struct notes *m, const void *key);

void notes_free(struct notes *m);

#endif
