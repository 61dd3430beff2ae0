/* map.h -- a hash table from 64-bit keys to 32-bit numbers other than 0. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_MAP_H
#define MIDDEN_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. */
struct map {
	uint64_t *keys;
	uint32_t *values; /* 0: the place is empty */
	size_t count;
	size_t room; /* a power of two, or 0 */
};

/* The address of the key's value, valid until the next call. It holds 0 if the key is new; the
 * caller must then store a number other than 0 before calling again. */
uint32_t *map_reserve(struct map *m, uint64_t key);

void map_free(struct map *m);

/* A well-mixed hash of a text, to be used as a key; different texts may share one. */
uint64_t map_hash_text(const char *text);

#endif
