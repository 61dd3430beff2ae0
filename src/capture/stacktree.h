/* stacktree.h -- stacks as nodes of a tree in the segment; lock-free.
 * Runs: any thread of the target, inside malloc. Called by walk.c and shortcut.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A node is filed by a hash of all places from the root to it. So a stack that is in the tree is
 * found by one look for its leaf; whether that leaf is the right one is seen by going up from it,
 * through nodes that were made one after another and lie side by side. */
#ifndef MIDDEN_CAPTURE_STACKTREE_H
#define MIDDEN_CAPTURE_STACKTREE_H

#include <stdint.h>

#include "capture/thread.h"

/* What a tree lives in, so that tests can build one without a process. */
struct stacktree {
	_Atomic uint32_t *roots;
	struct segment_node *nodes;
	_Atomic uint32_t *nodes_used;
	uint32_t node_count;
};

/* Some frames below a node that is known. */
struct stacktree_run {
	uint32_t outer;		/* the node; 0: the run begins at the root */
	uint32_t outer_hash;	/* of the path to it; 0 for the root */
	const uint32_t *places; /* leaf first, with SEGMENT_NODE_* flags */
	uint32_t count;
};

/* The tree of this process. */
static inline struct stacktree stacktree_get(void)
{
	return (struct stacktree){
		.roots = (_Atomic uint32_t *)(void *)((char *)process->header +
						      process->layout.roots_offset),
		.nodes = process_node(0),
		.nodes_used = &process->header->nodes_used,
		.node_count = process->layout.node_count,
	};
}

/* The hash of a path with one more place at its end: a polynomial in STACKTREE_BASE, so that that
 * of a path and a run below it can be put together from theirs: path * base^n + run. */
#define STACKTREE_BASE UINT32_C(0x2c1b3c6d)

static inline uint32_t stacktree_hash(uint32_t path, uint32_t place)
{
	uint32_t mixed = place * UINT32_C(0x9e3779b1);

	return path * STACKTREE_BASE + (mixed ^ mixed >> 15);
}

#define STACKTREE_ROOT_BITS 18

/* Bits are taken from the top, where a product mixes best. They may run out: what then has the same
 * hash is one long chain of blocks. */
static inline uint32_t stacktree_bits(uint32_t hash)
{
	return hash * UINT32_C(0x85ebca6b);
}

static inline _Atomic uint32_t *stacktree_root(const struct stacktree *tree, uint32_t bits)
{
	return &tree->roots[bits >> (32 - STACKTREE_ROOT_BITS)];
}

/* Has the processor fetch what stacktree_find will look at first for this hash. */
static inline void stacktree_prefetch(const struct stacktree *tree, uint32_t hash)
{
	__builtin_prefetch(stacktree_root(tree, stacktree_bits(hash)));
}

/* The leaf's node of a run whose whole path has the hash `hash`; 0: not in the tree. */
uint32_t stacktree_find(const struct stacktree *tree, const struct stacktree_run *run,
			uint32_t hash);

/* The leaf's node of a run, added if need be. When the tree is full, the innermost one that there
 * is, which is counted as a truncated stack, and *full is set. */
uint32_t stacktree_add(struct thread *t, const struct stacktree *tree,
		       const struct stacktree_run *run, bool *full);

/* The node of the stack in t->frames[0..count), leaf first. */
uint32_t stacktree_intern(struct thread *t, uint32_t count);

#endif
