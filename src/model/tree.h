/* tree.h -- stacks added up into a call tree, from the allocating function outwards or from the
 * program's start. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_TREE_H
#define MIDDEN_MODEL_TREE_H

#include "model/figure.h"
#include "model/model.h"

enum tree_direction {
	TREE_INVERTED, /* allocating functions at the top, callers below */
	TREE_TOP_DOWN, /* the program's start at the top, callees below */
};

/* What a reader wants to see. */
struct tree_view {
	enum figure figure;
	enum tree_direction direction;
	double threshold; /* leave out what has less than this share, in percent */
	unsigned depth;	  /* levels shown; 0 all */
	unsigned limit;	  /* children shown of each node; 0 all */
	bool by_function; /* the lines of a function are one: a node's frame is its group */
	bool fold;	  /* recursion is shown once: see fold.h */
};

struct tree_node {
	uint32_t frame; /* id in the model; without meaning for node 0 */
	uint32_t parent;
	uint32_t first_child; /* position in `children` */
	uint32_t child_count;
	struct amount amount; /* of all stacks that pass through here; each counts once */
	struct amount self;   /* of the stacks that end here: amount minus that of the children */
	/* With `fold`: this frame and the cycle - 1 next ones towards the root were there so many
	 * times in a row, in different stacks from the fewest to the most. 1 where nothing recurs.
	 */
	uint16_t repeats_min;
	uint16_t repeats_max;
	uint8_t cycle;
	bool hot; /* on the path to follow first: the largest child, half of its parent or more */
};

/* The share of the whole that the first node of the hot path has at least, in percent. */
#define TREE_HOT_PERCENT 10

/* Node 0 is the whole. The children of node n are children[n.first_child + 0 .. n.child_count - 1],
 * the largest first, equal ones by name. What lies below a node that the view leaves out is not
 * there: such a node has its amount, but neither children nor self. */
struct tree {
	const struct model *model;
	struct tree_view view;
	VEC(struct tree_node) nodes;
	uint32_t *children;
};

/* Never NULL. Sites to which the figure gives nothing are left out. */
struct tree *tree_build(const struct model *m, const struct tree_view *view);

/* The same over other amounts than a figure's, one for each site: what was live at some time, say.
 * The view's figure tells whether bytes or blocks count. */
struct tree *tree_build_of(const struct model *m, const struct tree_view *view,
			   const struct amount *amounts);

void tree_free(struct tree *t);

const struct tree_node *tree_get_child(const struct tree *t, const struct tree_node *n, uint32_t i);

/* How many of the children of a node at `depth` (node 0: 0) are shown, which are the first ones;
 * and what the others come to. */
uint32_t tree_get_shown(const struct tree *t, const struct tree_node *n, unsigned depth);
struct amount tree_get_rest(const struct tree *t, const struct tree_node *n, uint32_t shown);

/* An amount's share of the whole in percent, by the figure's value; 0 of nothing is 0. */
double tree_get_share(const struct tree *t, struct amount a);

#endif
