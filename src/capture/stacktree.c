/* stacktree.c -- stacks as nodes of a tree in the segment; lock-free.
 * Runs: any thread of the target, inside malloc. Called by cold.c and hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stacktree.h"

#include "capture/host.h"

/* The trie takes its bits from the top, where a product mixes best. The module is left to the
 * comparison: the same pc in two modules is rare. */
static inline uint64_t hash_key(uint32_t parent, uint64_t pc)
{
	uint64_t h = (pc ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

#define ROOT_BITS 16
_Static_assert(SEGMENT_ROOT_COUNT == 1u << ROOT_BITS, "the top bits of the hash choose the root");

static inline bool is_node(const struct segment_node *node, uint32_t parent,
			   const struct walk_frame *f)
{
	return node->pc == f->pc && node->parent == parent && node->module == f->module;
}

/* A node that nobody else sees yet; 0 when the tree is full. */
static uint32_t reserve(const struct stacktree *tree, uint32_t *spare)
{
	uint32_t index = *spare;

	if (index) {
		*spare = 0;
		return index;
	}
	/* Not fetch_add: a full tree must not wrap around. */
	uint32_t used = atomic_load_explicit(tree->nodes_used, memory_order_relaxed);
	while (used + 1 < tree->node_count) {
		if (atomic_compare_exchange_weak_explicit(tree->nodes_used, &used, used + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return used + 1;
	}
	return 0;
}

uint32_t stacktree_child(const struct stacktree *tree, uint32_t parent, const struct walk_frame *f,
			 uint32_t *spare)
{
	uint64_t h = hash_key(parent, f->pc);
	_Atomic uint32_t *link = &tree->roots[h >> (64 - ROOT_BITS)];
	uint32_t fresh = 0;

	for (h <<= ROOT_BITS;; h <<= 2) {
		/* Pairs with the release below: a node that is linked has its fields. */
		uint32_t index = atomic_load_explicit(link, memory_order_acquire);

		if (index == 0) {
			if (!fresh)
				fresh = reserve(tree, spare);
			if (!fresh)
				return parent;
			struct segment_node *node = &tree->nodes[fresh];
			node->pc = f->pc;
			node->parent = parent;
			node->module = (uint32_t)f->module;
			if (atomic_compare_exchange_strong_explicit(link, &index, fresh,
								    memory_order_release,
								    memory_order_acquire))
				return fresh;
		}
		if (is_node(&tree->nodes[index], parent, f)) {
			*spare = fresh ? fresh : *spare;
			return index;
		}
		link = &tree->nodes[index].child[h >> 62];
	}
}

struct stacktree stacktree_get(void)
{
	return (struct stacktree){
		.roots = (_Atomic uint32_t *)(void *)((char *)process->header +
						      process->layout.roots_offset),
		.nodes = process_node(0),
		.nodes_used = &process->header->nodes_used,
		.node_count = process->layout.node_count,
	};
}

uint32_t stacktree_intern(struct thread *t, uint32_t count)
{
	const struct stacktree tree = stacktree_get();
	uint32_t node = 0;

	for (uint32_t i = count; i-- > 0;)
		node = stacktree_child(&tree, node, &t->frames[i], &t->spare_node);
	return node;
}
