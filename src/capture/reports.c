/* reports.c -- blocks of the program's own allocators, as it reports them through
 * include/midden/midden.h. Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "capture/hot.h"
#include "capture/light.h"
#include "capture/named.h"
#include "capture/orders.h"
#include "capture/stacktree.h"
#include "capture/texts.h"
#include "midden/midden.h"

#define EXPORT	  __attribute__((visibility("default")))
#define DEPTH_MAX 16384u /* of any stack: recording_set_max_depth allows no more */

/* Tag mode counts none of these: it keeps no blocks, and could not tell the size of what goes. */

EXPORT void midden_add_block(void *block, uint64_t bytes)
{
	struct walk_start start = WALK_START();

	if (!light_is_on())
		hot_alloc(block, (size_t)bytes, SEGMENT_API_OTHER, &start);
	else if (light_is_sampling())
		light_add(block, (size_t)bytes, SEGMENT_API_OTHER, &start);
}

EXPORT void midden_remove_block(void *block)
{
	if (!light_is_on())
		(void)hot_release(block, SEGMENT_EVENT_FREE);
	else if (light_is_sampling())
		light_remove(block, LIGHT_FRAME(), WALK_CALLER());
}

static NOINLINE void move_lightly(void *block, void *moved, uint64_t bytes,
				  const struct walk_start *start)
{
	struct light_move move;

	light_move_begin(&move, block, start);
	move.api = SEGMENT_API_OTHER;
	light_move_end(&move, moved, (size_t)bytes, start);
}

EXPORT void midden_move_block(void *block, void *moved, uint64_t bytes)
{
	struct walk_start start = WALK_START();

	if (light_is_on()) {
		if (light_is_sampling())
			move_lightly(block, moved, bytes, &start);
	} else if (hot_release(block, SEGMENT_EVENT_RESIZE)) {
		(void)hot_block(moved, (size_t)bytes, SEGMENT_EVENT_RESIZED, SEGMENT_API_OTHER,
				&start);
	}
}

/* ---- pools ----------------------------------------------------------------------------------- */

static void put_pool(uint32_t order, const void *memory, uint64_t bytes)
{
	int saved = errno;

	if (!light_is_on())
		(void)orders_put(SEGMENT_EVENT_ORDER, order,
				 (uint64_t[]){(uint64_t)(uintptr_t)memory, bytes, 0});
	errno = saved;
}

EXPORT void midden_open_pool(void *memory, uint64_t bytes)
{
	put_pool(SEGMENT_ORDER_POOL_OPEN, memory, bytes);
}

EXPORT void midden_close_pool(void *memory)
{
	put_pool(SEGMENT_ORDER_POOL_CLOSE, memory, 0);
}

/* The hash of the path to a node, from the root on. */
static uint32_t hash_path(const struct thread *t, uint32_t node)
{
	const struct segment_node *nodes = process_node(0);
	const uint32_t leaf = node;
	uint32_t hash = 0, power = 1;

	/* From the leaf up: each place counts with the power of its distance. */
	for (uint32_t i = 0; node && i <= DEPTH_MAX + t->max_depth; i++) {
		hash += power * stacktree_hash(0, segment_node_place(nodes, node));
		power *= STACKTREE_BASE;
		node = segment_node_parent(nodes, node);
	}
	return leaf ? hash : 0;
}

/* The stack with the pool's name as one more frame. */
static uint32_t find_node(struct thread *t, const char *pool, const struct walk_start *start)
{
	const struct texts texts = texts_get();
	const struct named named = named_get();
	const struct stacktree tree = stacktree_get();
	const struct segment_named wanted = {.kind = SEGMENT_NAMED_POOL,
					     .function = texts_add(&texts, pool, strlen(pool))};
	uint32_t place = named_add(&named, &wanted);
	uint32_t outer = walk_node(t, start);
	const struct stacktree_run run = {
		.outer = outer, .outer_hash = hash_path(t, outer), .places = &place, .count = 1};
	bool full = false;

	return stacktree_add(t, &tree, &run, &full);
}

EXPORT void midden_add_pool_block(const char *pool, void *block, uint64_t bytes)
{
	const uint32_t what = SEGMENT_API_OTHER << 4 | SEGMENT_EVENT_ALLOC;
	struct walk_start start = WALK_START();
	const uint64_t frame = HOT_FRAME();

	if (light_is_on() ||
	    (!HOT_IS_READY() && gate_admit_block(&start, block, (size_t)bytes, what) != GATE_OPEN))
		return;
	struct thread *t = hot_hold(frame);
	if (likely(t))
		hot_put_block(t, block, (size_t)bytes, what,
			      find_node(t, pool ? pool : "", &start));
}

/* Where pieces are not recorded, the pool's memory counts instead. */
EXPORT void midden_remove_pool_block(void *block)
{
	if (!light_is_on())
		(void)hot_release(block, SEGMENT_EVENT_FREE);
}
