/* deepest.h -- the functions that threads were in when their stacks were deepest. Runs: offline;
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_DEEPEST_H
#define MIDDEN_MODEL_DEEPEST_H

#include "base/vec.h"
#include "model/model.h"

/* A function, or as many calls of it as follow one another. */
struct deepest_row {
	uint32_t frame; /* id of the model; of the innermost call */
	uint32_t calls;
	uint64_t bytes; /* of the stack that they have */
};

struct deepest_stack {
	const struct profile_thread *thread;
	uint64_t bytes;
	size_t first; /* in `rows`; the outermost */
	size_t count;
};

/* Zero-initialise. */
struct deepest {
	VEC(struct deepest_stack) stacks; /* the deepest first */
	VEC(struct deepest_row) rows;
};

/* With `fold`, calls that follow one another are one row. */
void deepest_build(struct deepest *d, const struct model *m, bool fold);
void deepest_fini(struct deepest *d);

#endif
