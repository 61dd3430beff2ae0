/* memo.h -- a table from addresses of foreign data (strings, DIEs) to what was worked out about them. Runs: offline;
 * used inside this room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_MEMO_H
#define MIDDEN_SYMBOL_MEMO_H

#include <stddef.h>

struct memo_entry {
	const void *key; /* NULL: empty */
	void *value;     /* NULL: nothing worked out yet; from malloc, freed with the memo */
};

/* Zero-initialise. */
struct memo {
	struct memo_entry *entries; /* open addressing, at most half full */
	size_t room;                /* 0 or a power of two */
	size_t count;
};

/* The place of the value of `key` (not NULL), added with NULL if it is new. Valid until the next call. */
void **memo_get(struct memo *m, const void *key);

void memo_free(struct memo *m);

#endif
