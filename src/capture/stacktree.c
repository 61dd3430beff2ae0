/* stacktree.c -- stacks as nodes of a tree in the segment; lock-free.
 * Runs: any thread of the target, inside malloc. Called by walk.c and shortcut.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stacktree.h"

#include "capture/host.h"

#define ROOT_BITS 18
_Static_assert(SEGMENT_ROOT_COUNT == 1u << ROOT_BITS, "the top bits of the hash choose the root");

/* The trie takes its bits from the top, where a product mixes best. They may run out: what then
 * has the same hash is a list. */
static inline uint32_t bits_of(uint32_t hash)
{
	return hash * UINT32_C(0x85ebca6b);
}

static inline _Atomic uint32_t *root_of(const struct stacktree *tree, uint32_t bits)
{
	return &tree->roots[bits >> (32 - ROOT_BITS)];
}

/* Whether the way up from a node passes the places of a run and comes to its outer node. */
static inline bool is_leaf_of(const struct segment_node *nodes, uint32_t node,
			      const struct stacktree_run *run)
{
	for (uint32_t i = 0; i < run->count; i++) {
		if (node == 0 || nodes[node].place != run->places[i])
			return false;
		node = nodes[node].parent;
	}
	return node == run->outer;
}

uint32_t stacktree_find(const struct stacktree *tree, const struct stacktree_run *run,
			uint32_t hash)
{
	uint32_t bits = bits_of(hash);
	_Atomic uint32_t *link = root_of(tree, bits);

	for (bits <<= ROOT_BITS;; bits <<= 1) {
		/* Pairs with the release in find_child: a node that is linked has its fields. */
		uint32_t index = atomic_load_explicit(link, memory_order_acquire);

		if (index == 0 || is_leaf_of(tree->nodes, index, run))
			return index;
		link = &tree->nodes[index].child[bits >> 31];
	}
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

/* The node for (parent, place), found or added; 0 if there is none and the tree is full. `spare`
 * keeps a node that was reserved but lost a race. */
static uint32_t find_child(const struct stacktree *tree, const struct segment_node *wanted,
			   uint32_t hash, uint32_t *spare)
{
	uint32_t bits = bits_of(hash);
	_Atomic uint32_t *link = root_of(tree, bits);
	uint32_t fresh = 0;

	for (bits <<= ROOT_BITS;; bits <<= 1) {
		/* Pairs with the release below: a node that is linked has its fields. */
		uint32_t index = atomic_load_explicit(link, memory_order_acquire);

		if (index == 0) {
			if (!fresh)
				fresh = reserve(tree, spare);
			if (!fresh)
				return 0;
			struct segment_node *node = &tree->nodes[fresh];
			node->parent = wanted->parent;
			node->place = wanted->place;
			if (atomic_compare_exchange_strong_explicit(link, &index, fresh,
								    memory_order_release,
								    memory_order_acquire))
				return fresh;
		}
		if (tree->nodes[index].parent == wanted->parent &&
		    tree->nodes[index].place == wanted->place) {
			*spare = fresh ? fresh : *spare;
			return index;
		}
		link = &tree->nodes[index].child[bits >> 31];
	}
}

/* The roots of a run's nodes lie anywhere, and each is a cache miss: all at once, not one after
 * another. */
static void prefetch_roots(const struct stacktree *tree, const struct stacktree_run *run)
{
	uint32_t hash = run->outer_hash;

	for (uint32_t i = run->count; i-- > 0;) {
		hash = stacktree_hash(hash, run->places[i]);
		__builtin_prefetch(root_of(tree, bits_of(hash)));
	}
}

uint32_t stacktree_add(struct thread *t, const struct stacktree *tree,
		       const struct stacktree_run *run, bool *full)
{
	uint32_t hash = run->outer_hash;
	uint32_t node = run->outer;

	prefetch_roots(tree, run);
	for (uint32_t i = run->count; i-- > 0;) {
		const struct segment_node wanted = {.parent = node, .place = run->places[i]};

		hash = stacktree_hash(hash, run->places[i]);
		uint32_t child = find_child(tree, &wanted, hash, &t->spare_node);
		if (unlikely(!child)) {
			thread_count(&t->slot->losses.truncated_stacks);
			*full = true;
			return node;
		}
		node = child;
	}
	return node;
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
	const struct stacktree_run run = {.places = t->frames, .count = count};
	bool full = false;

	return stacktree_add(t, &tree, &run, &full);
}
