/* diff_tree.h -- the stacks that changed between two profiles, added up into a call tree.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_DIFF_TREE_H
#define MIDDEN_MODEL_DIFF_TREE_H

#include "model/diff.h"
#include "model/tree.h"

struct diff_delta {
	int64_t bytes;
	int64_t blocks;
};

/* Adds to a sum of changes. What does not fit, in a profile that makes no sense, wraps around. */
static inline void diff_tree_add(struct diff_delta *sum, struct diff_delta more)
{
	sum->bytes = (int64_t)((uint64_t)sum->bytes + (uint64_t)more.bytes);
	sum->blocks = (int64_t)((uint64_t)sum->blocks + (uint64_t)more.blocks);
}

/* What the stacks of a row changed by. */
static inline struct diff_delta diff_tree_get_delta(const struct diff_row *row)
{
	return (struct diff_delta){diff_change(row->amounts[0].bytes, row->amounts[1].bytes),
				   diff_change(row->amounts[0].blocks, row->amounts[1].blocks)};
}

struct diff_node {
	uint32_t frame; /* of the model of `side`; its line has no meaning; nor both for node 0 */
	uint8_t side;
	uint32_t first_child; /* children lie together */
	uint32_t child_count;
	uint32_t shown;		 /* of these; the others come last and go no further */
	struct diff_delta delta; /* new minus old, of all stacks that pass through here */
	struct diff_delta self;	 /* of those that end here; only where children are looked at */
	uint64_t gross;		 /* growth and shrinking added up, by the figure's value */
};

/* Node 0 is the whole. Children: what grew first, the largest first, then what shrank; those below
 * the threshold at the end. A node has no children if it is one of these, or at the depth. */
struct diff_tree {
	const struct diff *diff;
	enum tree_direction direction;
	double threshold; /* percent of all growth and shrinking */
	unsigned depth;	  /* levels; 0 all */
	VEC(struct diff_node) nodes;
};

/* `d` is one by stack. Never NULL. */
struct diff_tree *diff_tree_build(const struct diff *d, const struct tree_view *view);
void diff_tree_free(struct diff_tree *t);

#endif
