/* pools.c -- memory that allocators of the program's own cut up. Runs: in the collector process,
 * one thread, when the program says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/pools.h"

#define POOLS_MOST 65536u /* beyond, a program's pools are like any other memory */

/* While the blocks of a pool are gathered. */
struct search {
	uint64_t start;
	uint64_t bytes;
	VEC(uint64_t) found;
};

void pools_fini(struct account *a)
{
	vec_free(&a->pools);
}

void pools_open(struct account *a, const struct event *e)
{
	struct pool pool = {.start = e->ptr, .bytes = e->size};
	uint64_t hash = live_hash(e->ptr);

	if (a->pools.count >= POOLS_MOST)
		return;
	const struct live_block *found = live_remove(&a->live, hash, e->ptr);
	if (found) {
		pool.block = *found;
		account_leave_for_now(a, &pool.block, e);
	}
	*vec_push(&a->pools) = pool;
}

static void note_inside(void *context, struct live_block *block)
{
	struct search *s = context;

	if (block->ptr - s->start < s->bytes)
		*vec_push(&s->found) = block->ptr;
}

static void empty(struct account *a, const struct pool *pool, const struct event *e)
{
	struct search s = {.start = pool->start, .bytes = pool->bytes};

	live_visit(&a->live, note_inside, &s);
	for (size_t i = 0; i < s.found.count; i++) {
		const struct live_block *found =
			live_remove(&a->live, live_hash(s.found.at[i]), s.found.at[i]);
		struct live_block gone = *found;

		account_leave_for_now(a, &gone, e);
	}
	vec_free(&s.found);
}

/* Takes the pool at this address off the list; false: there is none. The latest comes first. */
static bool take(struct account *a, uint64_t start, struct pool *pool)
{
	for (size_t i = a->pools.count; i-- > 0;) {
		if (a->pools.at[i].start != start)
			continue;
		*pool = a->pools.at[i];
		a->pools.at[i] = a->pools.at[--a->pools.count];
		return true;
	}
	return false;
}

void pools_close(struct account *a, const struct event *e)
{
	struct pool pool;

	if (!take(a, e->ptr, &pool))
		return;
	empty(a, &pool, e);
	if (!pool.block.ptr)
		return;
	struct live_block *again = live_add(&a->live, live_hash(e->ptr), e->ptr);
	if (!again)
		return;
	*again = pool.block;
	account_enter_again(a, &pool.block, e->ticks);
}

bool pools_free(struct account *a, const struct event *e)
{
	struct pool pool;

	if (!take(a, e->ptr, &pool))
		return false;
	empty(a, &pool, e);
	return true;
}
