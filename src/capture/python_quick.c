/* python_quick.c -- stacks of Python that have been met before, found by comparing alone.
 * Runs: any thread of the target, inside malloc. Called by python.c and pymalloc.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_quick.h"

#include "capture/modules.h"

void python_quick_init(struct python_quick *q, const struct python_interpreter *i)
{
	const struct python_offsets *o = i->o;

	q->generation = 0;
	q->get_current = i->get_current;
	/* Where an instruction is a number, it does not tell its code object: see find_changed. */
	if (o->instruction != PYTHON_INSTRUCTION_AT)
		q->get_current = NULL;
	q->thread_id = o->thread_id;
	q->thread_cframe = o->thread_cframe;
	q->thread_frame = o->thread_frame;
	q->cframe_frame = o->cframe_frame;
	q->frame_instruction = o->frame_instruction;
	q->frame_previous = o->frame_previous;
	q->frame_code = o->frame_code;
	q->frame_owner = o->frame_owner;
	q->frame_bytes = o->frame_bytes;
}

void python_quick_allow(struct python_quick *q, uint64_t state, uint32_t generation)
{
	if (!q->get_current || (uint64_t)(uintptr_t)q->get_current() != state)
		return;
	q->state = state;
	q->owner = python_reads_word(state + q->thread_id);
	q->generation = generation;
}

/* ---- frames of Python ------------------------------------------------------------------------ */

/* The outermost frame up to `leaf` that has changed, or the one behind `leaf`. NULL: what is
 * outside of one is another one. Its code object need not be compared: the instruction lies in
 * it, and while no code object is freed, no other one can be there. From the inside out: a frame
 * that the thread has left may have gone with its page, and only what a frame that is there
 * names as outside of it is there too. */
static inline struct python_memo_frame *find_changed(const struct python_quick *q,
						     struct python_memo_frame *first,
						     struct python_memo_frame *leaf)
{
	const uint64_t instruction = q->frame_instruction, previous = q->frame_previous;
	struct python_memo_frame *changed = leaf + 1;

	for (struct python_memo_frame *f = leaf; f >= first; f--) {
		if (unlikely(python_reads_word(f->at + previous) != f->previous))
			return NULL;
		if (python_reads_word(f->at + instruction) != f->instruction)
			changed = f;
	}
	return changed;
}

#define PLACES_MOST 8 /* so far out a place is looked for */

/* The memo's place for the frame at `at`, which is not the innermost of the last walk: that of one
 * further out, or inside of the one that it says is outside of it. NULL: there is none. */
static NOINLINE struct python_memo_frame *find_place(struct python_quick *q, uint64_t at)
{
	struct python_memo *m = &q->memo;
	struct python_memo_frame *leaf = m->frames + m->count - 1;
	struct python_memo_frame *last = m->count > PLACES_MOST ? leaf - PLACES_MOST : m->frames;
	struct python_memo_frame *f = leaf;

	while (f >= last && f->at != at)
		f--;
	if (f >= last)
		return f;
	if ((at & 7) || !python_reads_has(&q->reads, at, q->frame_bytes))
		return NULL;
	uint64_t outer = python_reads_word(at + q->frame_previous);
	for (f = leaf; f >= last && f->at != outer; f--)
		;
	if (f < last || f == m->frames + m->room - 1)
		return NULL;
	f[1] = (struct python_memo_frame){.at = at, .previous = outer};
	return f + 1;
}

/* Gives frames from `f` to `leaf` the nodes that they are known to have. False: one is not known;
 * the memo then is of those outside of it. */
static bool follow(struct python_quick *q, struct python_memo_frame *f,
		   const struct python_memo_frame *leaf)
{
	struct python_memo *m = &q->memo;
	uint64_t activation = f > m->frames ? f[-1].activation : 0;
	uint32_t outer = f > m->frames ? f[-1].node : 0;

	for (; f <= leaf; outer = f++->node) {
		if (f->is_shim || python_reads_word(f->at + q->frame_previous) != f->previous)
			break;
		f->code = python_reads_word(f->at + q->frame_code);
		f->instruction = python_reads_word(f->at + q->frame_instruction);
		f->activation = activation;
		if (unlikely(!python_memo_follow(m, outer, f, f->at + q->frame_owner)))
			break;
	}
	if (likely(f > leaf))
		return true;
	m->count = (uint32_t)(f - m->frames);
	return false;
}

/* Makes the memo that of the stack whose innermost frame is at `at`; that frame. NULL: it has some
 * that are not known. */
static inline const struct python_memo_frame *advance(struct python_quick *q, uint64_t at)
{
	struct python_memo *m = &q->memo;
	struct python_memo_frame *leaf = m->frames + m->count - 1, *changed;

	if (unlikely(leaf->at != at)) {
		leaf = find_place(q, at);
		if (!leaf)
			return NULL;
	}
	changed = find_changed(q, m->frames, leaf);
	if (unlikely(!changed)) {
		m->count = (uint32_t)(leaf - m->frames);
		return NULL;
	}
	if (changed <= leaf && unlikely(!follow(q, changed, leaf)))
		return NULL;
	m->count = (uint32_t)(leaf + 1 - m->frames);
	return leaf;
}

/* ---- native ends ----------------------------------------------------------------------------- */

/* As python_quick_find, where the end is not the one that it was the last time. */
static NOINLINE uint32_t search(struct python_leaves *leaves, const struct walk_start *start,
				uint64_t goal, uint32_t outer, uint64_t high)
{
	const struct python_leaf *s = python_leaf_find(leaves, start, goal, high);

	if (!s)
		return 0;
	const struct python_leaf_pair *pair = python_leaf_pair(leaves, s, outer);
	if (pair->outer != outer || pair->serial != s->serial)
		return 0;
	struct python_leaf_guess *g = python_leaf_guesses(leaves, s->pc, s->goal, outer);
	g[1] = g[0];
	g[0] = (struct python_leaf_guess){.outer = outer,
					  .serial = s->serial,
					  .node = pair->node,
					  .leaf = (uint32_t)(s - leaves->at)};
	return pair->node;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Whether this thread's last walk says something of this one: what it found is all there, and the
 * thread state that holds the GIL says that it is of this thread: none that has come to be at the
 * same address since does. */
static inline bool may_ask(struct python_quick *q)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	/* See count_and_free in python_memo.c. */
	uint64_t ended = atomic_load_explicit(&python_memo_codes_ended, memory_order_relaxed);

	if (unlikely(q->generation != generation || q->memo.codes_ended != ended || !q->left))
		return false;
	q->left--;
	return (uint64_t)(uintptr_t)q->get_current() == q->state &&
	       python_reads_word(q->state + q->thread_id) == q->owner && q->memo.count;
}

uint32_t python_quick_find(struct python_quick *q, struct thread *t, const struct walk_start *start)
{
	const uint64_t sp = start->sp;
	uint64_t goal = 0, at;

	if (unlikely(!may_ask(q) || !stackrange_covers(&t->stack, sp)))
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
	const struct python_memo_frame *f = advance(q, at);
	/* The last in case that native frames make the stack too deep. */
	if (unlikely(!f || !f->node || q->memo.count + PYTHON_LEAF_PLACES > t->max_depth))
		return 0;
	if (!q->thread_cframe)
		goal = f->activation;
	const uint64_t distance = python_leaf_distance(goal, sp);
	const struct python_leaf_guess *g =
		python_leaf_guesses(&q->leaves, start->pc, distance, f->node);
	const struct python_leaf *s = &q->leaves.at[g->leaf];
	if (likely(g->outer == f->node && g->serial == s->serial) &&
	    likely(python_leaf_is(s, start, distance, high)))
		return g->node;
	s = &q->leaves.at[(++g)->leaf];
	if (g->outer == f->node && g->serial == s->serial &&
	    python_leaf_is(s, start, distance, high))
		return g->node;
	return search(&q->leaves, start, goal, f->node, high);
}
