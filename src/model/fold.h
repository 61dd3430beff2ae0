/* fold.h -- recursion in a stack, shown once. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_FOLD_H
#define MIDDEN_MODEL_FOLD_H

#include "model/model.h"

/* Functions of a cycle that is looked for; what recurs over more of them stays as it is. */
#define FOLD_CYCLE_MAX 16u

/* Says of a frame that it and the `cycle - 1` next ones towards the root were there `repeats` times
 * in a row. 1 and 1 for all others. */
struct fold_mark {
	uint32_t cycle;
	uint32_t repeats;
};

/* So many that two functions within a cycle's length rarely share a place: then stacks without
 * recursion are passed over quickly. */
#define FOLD_PLACES 8192u

/* Zero-initialise; free with fold_free. */
struct fold {
	VEC(struct fold_mark) marks; /* one for each frame that is left, if anything repeats */
	bool any;		     /* something does */
	/* Private to fold.c: */
	uint32_t *group_of;	    /* by frame: close together, for there are many stacks */
	VEC(uint32_t) groups;	    /* of the stack at hand */
	uint32_t number;	    /* of the frame at hand, over all stacks */
	uint32_t seen[FOLD_PLACES]; /* where a function was seen last; several share a place */
};

/* Leaves one turn, the one nearest to the allocation, of functions that repeat without anything in
 * between. Functions are compared, not lines. A `struct fold` is for one model. */
void fold_stack(const struct model *m, struct model_stack *stack, struct fold *f);

/* The mark of the frame at a place of the stack that was folded last. */
struct fold_mark fold_get_mark(const struct fold *f, size_t place);

void fold_free(struct fold *f);

#endif
