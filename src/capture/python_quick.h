/* python_quick.h -- stacks of Python that have been met before, found by comparing alone.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nearly every walk finds the thread state and the outer frames of the last one, innermost frames
 * that have gone on to an instruction where they have been, and a native end that is known. Such a
 * walk is done here, of what python_memo.h and python_leaf.h remember, and nothing is looked up.
 * All else is for python.c, which says when that can be asked for (python_quick_allow). */
#ifndef MIDDEN_CAPTURE_PYTHON_QUICK_H
#define MIDDEN_CAPTURE_PYTHON_QUICK_H

#include <stdint.h>

#include "capture/python_frames.h"
#include "capture/python_leaf.h"
#include "capture/python_memo.h"

struct python_quick {
	uint32_t generation; /* of the modules; 0: there is nothing to be asked */
	uint32_t left;	     /* walks until pages are asked for again: see python_reads.h */
	uint64_t state;	     /* the thread state that the last walk had */
	uint64_t owner;	     /* the thread that it is of, as it says itself */
	/* as in struct python_interpreter and its offsets: a walk has no time to look there */
	void *(*get_current)(void);
	uint32_t thread_id;
	uint32_t thread_cframe; /* 0: there is none, but a frame at thread_frame */
	uint32_t thread_frame;
	uint32_t cframe_frame;
	uint32_t frame_instruction;
	uint32_t frame_previous;
	uint32_t frame_code;
	uint32_t frame_owner;
	uint32_t frame_bytes;
	bool is_refused; /* the walk under way has asked */
	struct python_memo memo;
	struct python_reads reads;
	struct python_leaves leaves;
};

void python_quick_init(struct python_quick *q, const struct python_interpreter *i);

/* From now on walks of this thread may be quick, whose state is `state` and holds the GIL. */
void python_quick_allow(struct python_quick *q, uint64_t state, uint32_t generation);

/* The node of the calling thread's stack; 0: it must be walked. */
uint32_t python_quick_find(struct python_quick *q, struct thread *t,
			   const struct walk_start *start);

/* The same for a thread that may not have walked yet, and not twice for one walk. */
static inline uint32_t python_quick_try(struct thread *t, const struct walk_start *start)
{
	struct python_quick *q = t->python_quick;

	if (unlikely(!q || q->is_refused))
		return 0;
	uint32_t node = python_quick_find(q, t, start);
	if (unlikely(!node))
		q->is_refused = true;
	return node;
}

#endif
