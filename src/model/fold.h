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

/* Zero-initialise; free with vec_free(&f.marks). */
struct fold {
	VEC(struct fold_mark) marks; /* one for each frame that is left */
};

/* Leaves one turn, the one nearest to the allocation, of functions that repeat without anything
 * in between. Functions are compared, not lines. */
void fold_stack(const struct model *m, struct model_stack *stack, struct fold *f);

#endif
