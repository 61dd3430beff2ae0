/* stacktree.h -- stacks as nodes of a tree in the segment; lock-free.
 * Runs: any thread of the target, inside malloc. Called by cold.c and hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
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

/* The tree of this process. */
struct stacktree stacktree_get(void);

/* The node for (parent, pc, module), found or added. `spare` keeps a node that was reserved but
 * lost a race. When the tree is full, `parent` itself. */
uint32_t stacktree_child(const struct stacktree *tree, uint32_t parent, const struct walk_frame *f,
			 uint32_t *spare);

/* The node of the stack in t->frames[0..count), leaf first. */
uint32_t stacktree_intern(struct thread *t, uint32_t count);

#endif
