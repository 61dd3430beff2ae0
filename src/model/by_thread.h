/* by_thread.h -- a figure thread by thread, as the table of threads has it. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_BY_THREAD_H
#define MIDDEN_MODEL_BY_THREAD_H

#include "model/figure.h"
#include "model/filter.h"

struct by_thread_row {
	const struct profile_thread *thread;
	struct amount amount;
};

/* The largest first. A number that the kernel gave to several threads one after the other has a row
 * for each. */
struct by_thread {
	VEC(struct by_thread_row) rows; /* of threads that the filter takes */
	struct amount whole;		/* of all threads */
	struct amount kept;		/* of these rows */
};

/* False for figures that are not kept for threads: those that need a time. */
bool by_thread_is_possible(enum figure f);

/* `filter` may be NULL: all threads. Free with vec_free(&b->rows). */
void by_thread_build(struct by_thread *b, const struct profile *p, enum figure f,
		     const struct filter *filter);

#endif
