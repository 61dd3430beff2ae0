/* stacktree.c -- stacks as nodes of a tree in the segment; lock-free.
 * Runs: any thread of the target, inside malloc. Called by walk.c and shortcut.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stacktree.h"

#include "capture/host.h"

#define ROOT_BITS STACKTREE_ROOT_BITS
_Static_assert(SEGMENT_ROOT_COUNT == 1u << ROOT_BITS, "the top bits of the hash choose the root");

/* A link (a root, or `next` of a node) is the first node of a chain, or with BLOCK a block: where a
 * chain has become long, what follows it is spread over eight links. The first slot of a block
 * begins the chain that was there before, the others are the links; `next` is all that is used of
 * them. So a tree that has few nodes to a root needs no more than them, and one that has many stays
 * quick. */
#define BLOCK	   0x80000000u
#define BLOCK_BITS 3
#define CHAIN_MAX  6u

/* The link of a block that these bits lead to. */
static inline _Atomic uint32_t *link_of(const struct stacktree *tree, uint32_t block, uint32_t bits)
{
	return &tree->nodes[(block & ~BLOCK) + 1 + (bits >> (32 - BLOCK_BITS))].next;
}

/* Pairs with the release in push: a node that is linked has its fields, and so have those that it
 * leads to. */
static inline uint32_t follow(_Atomic uint32_t *link)
{
	return atomic_load_explicit(link, memory_order_acquire);
}

/* Whether the way up from a node passes the places of a run and comes to its outer node. */
static inline bool is_leaf_of(const struct segment_node *nodes, uint32_t node,
			      const struct stacktree_run *run)
{
	for (uint32_t i = 0; i < run->count; i++) {
		if (node == 0 || segment_node_place(nodes, node) != run->places[i])
			return false;
		node = segment_node_parent(nodes, node);
	}
	return node == run->outer;
}

/* The leaf's node of the run in a chain; 0: none. *length becomes that of the chain then. */
static inline uint32_t find_in_chain(const struct stacktree *tree, uint32_t node,
				     const struct stacktree_run *run, uint32_t *length)
{
	for (*length = 0; node && !is_leaf_of(tree->nodes, node, run); ++*length)
		node = follow(&tree->nodes[node].next);
	return node;
}

uint32_t stacktree_find(const struct stacktree *tree, const struct stacktree_run *run,
			uint32_t hash)
{
	uint32_t bits = stacktree_bits(hash), length;
	uint32_t head = follow(stacktree_root(tree, bits));

	for (bits <<= ROOT_BITS; unlikely(head & BLOCK); bits <<= BLOCK_BITS) {
		uint32_t before = follow(&tree->nodes[head & ~BLOCK].next);
		uint32_t node = find_in_chain(tree, before, run, &length);

		if (node)
			return node;
		head = follow(link_of(tree, head, bits));
	}
	return find_in_chain(tree, head, run, &length);
}

/* So many slots one after another, or one if the last taken is `last`; the index of the last of
 * them. 0: the tree is full. */
static uint32_t reserve(const struct stacktree *tree, uint32_t count, uint32_t last)
{
	/* Not fetch_add: a full tree must not wrap around. */
	uint32_t used = atomic_load_explicit(tree->nodes_used, memory_order_relaxed);

	for (;;) {
		uint32_t end = used + (used == last ? 1 : count);

		if (end >= tree->node_count)
			return 0;
		if (atomic_compare_exchange_weak_explicit(tree->nodes_used, &used, end,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return end;
	}
}

/* A node that nobody else sees yet, below the outer one of a run of one place; 0 when the tree is
 * full. `spare` is one that was not needed, which has a slot for its parent. */
static uint32_t make(const struct stacktree *tree, const struct stacktree_run *run, uint32_t *spare)
{
	uint32_t node = *spare ? *spare : reserve(tree, 2, run->outer);

	*spare = 0;
	if (!node)
		return 0;
	tree->nodes[node].place = run->places[0];
	if (node - 1 != run->outer) {
		tree->nodes[node].place |= SEGMENT_NODE_FAR;
		tree->nodes[node - 1].place = run->outer;
	}
	return node;
}

/* Puts a node or a block before what a link has led to so far. False: it leads elsewhere by now. */
static bool push(const struct stacktree *tree, _Atomic uint32_t *link, uint32_t fresh,
		 uint32_t before)
{
	atomic_store_explicit(&tree->nodes[fresh & ~BLOCK].next, before, memory_order_relaxed);
	return atomic_compare_exchange_strong_explicit(link, &before, fresh, memory_order_release,
						       memory_order_relaxed);
}

/* Lets the link of a long chain lead to a block. If others were faster, theirs does and ours is
 * lost: a few bytes, a few times. */
static bool split(const struct stacktree *tree, _Atomic uint32_t *link, uint32_t chain)
{
	uint32_t last = reserve(tree, 1 + (1 << BLOCK_BITS), UINT32_MAX);

	if (!last)
		return false;
	(void)push(tree, link, BLOCK | (last - (1 << BLOCK_BITS)), chain);
	return true;
}

/* A node that another thread was faster to add is kept for the next time. One without a slot for
 * its parent is of no use elsewhere. */
static void keep(const struct stacktree *tree, uint32_t node, uint32_t *spare)
{
	if (likely(!node))
		return;
	if (tree->nodes[node].place & SEGMENT_NODE_FAR)
		*spare = node;
	else
		tree->nodes[node].place = 0;
}

/* The node for a run of one place, found or added; 0 if there is none and the tree is full. */
static uint32_t find_child(const struct stacktree *tree, const struct stacktree_run *run,
			   uint32_t hash, uint32_t *spare)
{
	uint32_t bits = stacktree_bits(hash), fresh = 0, length;
	_Atomic uint32_t *link = stacktree_root(tree, bits);

	bits <<= ROOT_BITS;
	for (;;) {
		uint32_t head = follow(link);
		uint32_t chain = head & BLOCK ? follow(&tree->nodes[head & ~BLOCK].next) : head;
		uint32_t node = find_in_chain(tree, chain, run, &length);

		if (node) {
			keep(tree, fresh, spare);
			return node;
		}
		if (head & BLOCK) {
			link = link_of(tree, head, bits);
			bits <<= BLOCK_BITS;
			continue;
		}
		if (unlikely(length >= CHAIN_MAX) && split(tree, link, head))
			continue;
		if (!fresh)
			fresh = make(tree, run, spare);
		if (!fresh || push(tree, link, fresh, head))
			return fresh;
	}
}

/* The chains of a run's nodes lie anywhere, and each is a cache miss or two: all at once, not one
 * after another. */
static void prefetch_chains(const struct stacktree *tree, const struct stacktree_run *run)
{
	uint32_t hash = run->outer_hash;

	for (uint32_t i = run->count; i-- > 0;) {
		hash = stacktree_hash(hash, run->places[i]);
		__builtin_prefetch(stacktree_root(tree, stacktree_bits(hash)));
	}
	hash = run->outer_hash;
	for (uint32_t i = run->count; i-- > 0;) {
		hash = stacktree_hash(hash, run->places[i]);
		uint32_t head = atomic_load_explicit(stacktree_root(tree, stacktree_bits(hash)),
						     memory_order_relaxed);
		__builtin_prefetch(&tree->nodes[head & ~BLOCK]);
	}
}

uint32_t stacktree_add(struct thread *t, const struct stacktree *tree,
		       const struct stacktree_run *run, bool *full)
{
	uint32_t hash = run->outer_hash;
	uint32_t node = run->outer;

	prefetch_chains(tree, run);
	for (uint32_t i = run->count; i-- > 0;) {
		const struct stacktree_run wanted = {
			.outer = node, .places = &run->places[i], .count = 1};

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

uint32_t stacktree_intern(struct thread *t, uint32_t count)
{
	const struct stacktree tree = stacktree_get();
	const struct stacktree_run run = {.places = t->frames, .count = count};
	bool full = false;

	return stacktree_add(t, &tree, &run, &full);
}
