/* dynsym.h -- symbols that a loaded object exports, looked up without the loader.
 * Runs: any thread of the target, inside malloc. Called when an object is first seen on a stack.
 * SPDX-License-Identifier: Apache-2.0
 *
 * dlsym takes the loader's lock, which another thread may hold while it waits for us. Here the
 * object's own hash table is read, by copies (peek.h), since it may be unloaded meanwhile. */
#ifndef MIDDEN_CAPTURE_DYNSYM_H
#define MIDDEN_CAPTURE_DYNSYM_H

#include "capture/image.h"

/* As DT_GNU_HASH has it. */
static inline uint32_t dynsym_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Where an object keeps its symbols. */
struct dynsym {
	uint64_t bias;
	uint64_t hash; /* DT_GNU_HASH */
	uint64_t symbols;
	uint64_t strings;
};

/* False: it has no such tables. */
bool dynsym_open(const struct image *image, const struct image_headers *h, struct dynsym *d);

/* The run-time address of a symbol that is defined there, 0 if there is none; its size in *bytes,
 * which may be NULL. */
uint64_t dynsym_find(const struct dynsym *d, const char *name, uint64_t *bytes);

#endif
