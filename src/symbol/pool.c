/* pool.c -- modules that stay open between look-ups.
 * Runs: offline, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

struct entry {
	const struct pool_key *key;
	struct symbol_module *module;
};

struct symbol_pool {
	pthread_mutex_t lock;
	size_t most;
	bool is_modest;
	VEC(struct entry) entries; /* by when they were given */
};

static bool is_same(const struct pool_key *a, const struct pool_key *b)
{
	return a->build_id_bytes == b->build_id_bytes && a->object_only == b->object_only &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

/* Under the lock. */
static struct symbol_module *take_at(struct symbol_pool *pool, size_t at)
{
	struct symbol_module *module = pool->entries.at[at].module;

	pool->entries.count--;
	memmove(pool->entries.at + at, pool->entries.at + at + 1,
		(pool->entries.count - at) * sizeof(*pool->entries.at));
	return module;
}

struct symbol_pool *pool_new(size_t most)
{
	struct symbol_pool *pool = mem_new(1, sizeof(*pool));

	pthread_mutex_init(&pool->lock, NULL);
	pool->most = most;
	return pool;
}

void pool_free(struct symbol_pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
	vec_free(&pool->entries);
	free(pool);
}

void pool_keep_modest(struct symbol_pool *pool)
{
	pool->is_modest = true;
}

bool pool_is_modest(const struct symbol_pool *pool)
{
	return pool->is_modest;
}

struct symbol_module *pool_take(struct symbol_pool *pool, const struct pool_key *key)
{
	struct symbol_module *found = NULL;

	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->entries.count && !found; i++)
		if (is_same(pool->entries.at[i].key, key))
			found = take_at(pool, i);
	pthread_mutex_unlock(&pool->lock);
	return found;
}

struct symbol_module *pool_give(struct symbol_pool *pool, const struct pool_key *key,
				struct symbol_module *module)
{
	pthread_mutex_lock(&pool->lock);
	*vec_push(&pool->entries) = (struct entry){key, module};
	struct symbol_module *gone = pool->entries.count > pool->most ? take_at(pool, 0) : NULL;
	pthread_mutex_unlock(&pool->lock);
	return gone;
}

struct symbol_module *pool_pop(struct symbol_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	struct symbol_module *any =
		pool->entries.count ? take_at(pool, pool->entries.count - 1) : NULL;
	pthread_mutex_unlock(&pool->lock);
	return any;
}
