/* python_quick.h -- stacks of Python that have been met before, found by comparing alone.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nearly every walk finds the thread state and the outer frames of the last one, innermost frames
 * that have gone on to an instruction where they have been, and a native end that is known. Such a
 * walk is done here, of what python_memo.h, python_leaf.h and python_known.h remember. All else is
 * for python.c, which says when that can be asked for (python_quick_allow). */
#ifndef MIDDEN_CAPTURE_PYTHON_QUICK_H
#define MIDDEN_CAPTURE_PYTHON_QUICK_H

#include <stdint.h>

#include "capture/python_frames.h"
#include "capture/python_known.h"
#include "capture/python_leaf.h"
#include "capture/python_memo.h"
#include "capture/modules.h"
#include "capture/thread.h"

struct python_quick {
	uint32_t generation; /* of the modules; 0: there is nothing to be asked */
	uint32_t left;	     /* walks until pages are asked for again: see python_reads.h */
	uint64_t state;	     /* the thread state that the last walk had */
	uint64_t owner;	     /* the thread that it is of, as it says itself */
	/* as in struct python_interpreter and its offsets: a walk has no time to look there */
	void *(*get_current)(void);
	uint64_t current_at;   /* where that has it from: arch_find_returned; 0: not known */
	uint64_t current_mask; /* of the thread pointer */
	uint32_t thread_id;
	uint32_t thread_cframe; /* 0: there is none, but a frame at thread_frame */
	uint32_t thread_frame;
	uint32_t cframe_frame;
	uint32_t frame_instruction;
	uint32_t frame_previous;
	uint32_t frame_code;
	uint32_t frame_owner;
	uint32_t frame_bytes;
	uint32_t shim_owner; /* a frame whose owner is this or more is a shim */
	bool is_refused;     /* the walk under way has asked */
	/* of what is known: changes with the generation, and when code objects are freed */
	uint32_t epoch;
	uint32_t epoch_generation;
	uint64_t epoch_ended;
	const struct python_memo_link *deepest; /* with native frames below, the stack is not */
	struct python_memo memo;		/* too deep */
	struct python_reads reads;
	struct python_leaves leaves;
	struct python_known_table known;
};

/* For stacks of at most so many frames; the memo has been set up. */
void python_quick_init(struct python_quick *q, const struct python_interpreter *i, uint32_t depth);

/* From now on walks of this thread may be quick, whose state is `state` and holds the GIL. */
void python_quick_allow(struct python_quick *q, uint64_t state, uint32_t generation);

/* The node of the calling thread's stack; 0: it must be walked. For a thread that may not have
 * walked yet, and not twice for one walk. */
uint32_t python_quick_try(struct thread *t, const struct walk_start *start);

/* ---- the same without a call ----------------------------------------------------------------- */

#define PYTHON_QUICK inline __attribute__((always_inline))

/* python_quick_is_outer_same where frames have gone on to where they have been before. False: that
 * is not known of one; the memo then is of those outside of it. */
NOINLINE bool python_quick_settle(struct python_quick *q, struct python_memo_link *leaf);

/* The place for the frame at `at`, which is not the innermost of the last walk: that of one further
 * out, or inside of one, with those that it says are between them. NULL: there is none. */
NOINLINE struct python_memo_link *python_quick_find_place(struct python_quick *q, uint64_t at);

/* The node of a stack that is not known as a whole, if its parts are; 0: they are not. `f` is its
 * innermost frame. */
NOINLINE uint32_t python_quick_find_parts(struct python_quick *q, struct python_memo_link *f,
					  const struct python_known_key *k);

/* Whether `f`, whose instruction may be another, is below the same frames as it was, all of them at
 * the same instructions. Code objects need not be compared: an instruction lies in one, and while
 * none is freed, no other one can be there. From the inside out: a frame that the thread has left
 * may have gone with its page, and only what a frame that is there names as outside of it is there
 * too. Two at a time: that takes a fifth less. */
static PYTHON_QUICK bool python_quick_is_outer_same(const struct python_quick *q,
						    const struct python_memo_link *f)
{
	const uint64_t instruction = q->frame_instruction, previous = q->frame_previous;
	uint64_t at = f->at, outer;

	for (;; f -= 2) {
		outer = f[-1].at;
		if (python_reads_word(at + previous) != outer)
			break;
		if (unlikely(python_reads_word(outer + instruction) != f[-1].instruction))
			return false;
		at = f[-2].at;
		if (python_reads_word(outer + previous) != at) {
			f--;
			at = outer;
			break;
		}
		if (unlikely(python_reads_word(at + instruction) != f[-2].instruction))
			return false;
	}
	return likely(f == q->memo.links && !python_reads_word(at + previous));
}

/* As the next one, of a frame that may be early. */
NOINLINE uint32_t python_quick_take_odd(struct python_memo_link *f, const struct python_known *e);

static PYTHON_QUICK uint32_t python_quick_take(struct python_memo_link *f,
					       const struct python_known *e)
{
	if (unlikely(e->flags > PYTHON_KNOWN_LONG))
		return python_quick_take_odd(f, e);
	f->is_stale |= f->instruction != e->instruction;
	f->instruction = e->instruction;
	f->early = 0;
	f->node = e->python;
	return e->node;
}

/* What q->get_current returns, if possible without a call of something far away. */
static PYTHON_QUICK uint64_t python_quick_get_current(const struct python_quick *q)
{
	if (unlikely(!q->current_at))
		return (uint64_t)(uintptr_t)q->get_current();
	return python_reads_word((arch_thread_pointer() & q->current_mask) + q->current_at);
}

/* Whether this thread's last walk says something of this one: what it found is all there, and the
 * thread state that holds the GIL says that it is of this thread: none that has come to be at the
 * same address since does. */
static PYTHON_QUICK bool python_quick_may_ask(struct python_quick *q)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	/* See count_and_free in python_memo.c. */
	uint64_t ended = atomic_load_explicit(&python_memo_codes_ended, memory_order_relaxed);

	if (unlikely(q->generation != generation || q->memo.codes_ended != ended || !q->left))
		return false;
	q->left--;
	return python_quick_get_current(q) == q->state &&
	       python_reads_word(q->state + q->thread_id) == q->owner;
}

/* As python_quick_try, of a thread that has walked. */
static PYTHON_QUICK uint32_t python_quick_find_here(struct python_quick *q, struct thread *t,
						    const struct walk_start *start)
{
	const uint64_t sp = start->sp;
	uint64_t goal = 0, at;

	if (unlikely(!python_quick_may_ask(q) || !stackrange_covers(&t->stack, sp)))
		return 0;
	const uint64_t high = t->stack.high;
	if (q->thread_cframe) {
		goal = python_reads_word(q->state + q->thread_cframe);
		if (unlikely(goal - sp >= high - sp - 24)) /* it is on the stack */
			return 0;
		at = python_reads_word(goal + q->cframe_frame);
	} else {
		at = python_reads_word(q->state + q->thread_frame);
	}
	struct python_memo_link *f = q->memo.leaf;
	if (unlikely(f->at != at)) {
		f = python_quick_find_place(q, at);
		if (!f)
			return 0;
	}
	if (unlikely(f > q->deepest) ||
	    (unlikely(!python_quick_is_outer_same(q, f)) && !python_quick_settle(q, f)))
		return 0;
	q->memo.leaf = f;
	if (!q->thread_cframe)
		goal = f->activation;
	const struct python_known_key key = {
		.pc = start->pc,
		.sp = sp,
		.fp = start->fp,
		.instruction = python_reads_word(at + q->frame_instruction),
		.distance = python_leaf_distance(goal, sp),
		.high = high,
		.owner = at + q->frame_owner,
		.outer = f[-1].node,
		.epoch = q->epoch,
	};
	const struct python_known *e = python_known_set(&q->known, &key);
	if (likely(python_known_is(e, &key)) || python_known_is(++e, &key))
		return python_quick_take(f, e);
	const struct python_known_key copy = key; /* so that `key` can be in registers */
	return python_quick_find_parts(q, f, &copy);
}

/* As python_quick_try. */
static PYTHON_QUICK uint32_t python_quick_try_here(struct thread *t, const struct walk_start *start)
{
	struct python_quick *q = t->python_quick;

	if (unlikely(!q || q->is_refused))
		return 0;
	uint32_t node = python_quick_find_here(q, t, start);
	if (unlikely(!node))
		q->is_refused = true;
	return node;
}

#endif
