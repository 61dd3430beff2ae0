/* pool.h -- modules that stay open between look-ups, least recently used ones go first.
 * Runs: offline, any thread. Called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_POOL_H
#define MIDDEN_SYMBOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_pool;
struct symbol_module;

/* Which file it is: one that is replaced at its path has another build-id. */
struct pool_key {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_bytes;
	bool object_only; /* as in struct symbol_options */
};

struct symbol_pool *pool_new(size_t most);
void pool_free(struct symbol_pool *pool); /* an empty one */

/* Whether modules that take much memory are not to be put in: before it is used. */
void pool_keep_modest(struct symbol_pool *pool);
bool pool_is_modest(const struct symbol_pool *pool);

/* Takes a module of that key out; NULL if there is none. */
struct symbol_module *pool_take(struct symbol_pool *pool, const struct pool_key *key);

/* Puts a module in, whose key must stay as long. Returns one that has to go, or NULL. */
struct symbol_module *pool_give(struct symbol_pool *pool, const struct pool_key *key,
				struct symbol_module *module);

/* Takes any module out; NULL: there is none. */
struct symbol_module *pool_pop(struct symbol_pool *pool);

#endif
