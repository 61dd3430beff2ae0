/* walk.c -- the call stack of the calling thread, from its unwind tables.
 * Runs: any thread of the target, inside malloc. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame is (pc, sp, fp); the rule of its pc leads to the caller's. That is all that nearly every
 * frame needs, and the memo of the last walk (memo.h) ends most walks after a few of them. Where a
 * frame needs another register (the loader's lazy-binding stubs, hand-written assembly), or the
 * stack is deeper than is kept, the walk is done over by walk_full, without the memo.
 *
 * Reads are plain where the memory is known to be mapped (from the stack pointer to the top of the
 * thread's stack), and go through process_vm_readv elsewhere, so that a wild frame ends the walk
 * and never faults. */
#include "capture/walk.h"

#include "capture/host.h"
#include "capture/memo.h"
#include "capture/modules.h"
#include "capture/rules.h"
#include "capture/stacktree.h"
#include "capture/walk_full.h"
#include "capture/walk_step.h"

/* ---- steps
 * --------------------------------------------------------------------------------------- */

/* One frame outwards; `out` gets the words that were read. */
static inline enum walk_result step(struct walk *w, const struct rule *r, struct memo_frame *out)
{
	uint64_t fp = w->fp;
	uint64_t cfa;

	out->sp_at = 0;
	out->fp_at = 0;
	out->uses_fp = r->kind != RULE_SP;
	switch (r->kind) {
	case RULE_SP:
		cfa = w->sp + r->cfa;
		break;
	case RULE_FP:
		cfa = w->fp + r->cfa;
		break;
	case RULE_FP_DEREF:
		out->sp_at = w->fp - r->cfa;
		out->fp_at = w->fp;
		if (!walk_read(w, out->sp_at, &out->sp_value) ||
		    !walk_read(w, out->fp_at, &out->fp_value))
			return WALK_LOST;
		cfa = out->sp_value;
		fp = out->fp_value;
		break;
	case RULE_END:
		out->ra_at = 0;
		out->uses_fp = false;
		return WALK_END;
	case RULE_SIGNAL:
		return walk_step_signal(w, out);
	case RULE_COMPLEX:
		return WALK_COMPLEX;
	default:
		return walk_step_record(w, out);
	}
	out->ra_at = cfa - r->ra;
	if (!walk_is_outward(w, cfa) || !walk_read(w, out->ra_at, &out->ra_value))
		return WALK_LOST;
	if (r->fp) {
		out->fp_at = cfa - r->fp;
		if (!walk_read(w, out->fp_at, &out->fp_value))
			return WALK_LOST;
		fp = out->fp_value;
	}
	return walk_move(w, out->ra_value, cfa, fp);
}

/* ---- meeting the memo
 * -------------------------------------------------------------------------------- */

static inline void describe(struct memo_frame *f, const struct walk *w, uint32_t module)
{
	f->pc = w->pc;
	f->sp = w->sp;
	f->fp = w->fp;
	f->module = module | (uint32_t)w->exact;
}

/* Frames top down to `changed` of the memo are those of this walk too, but the step out of the last
 * is not. Takes them over as fresh ones, with the saved frame pointers as they are now, and stands
 * on the last. */
static void take_over(struct walk *w, struct memo *m, int64_t top, int64_t changed, uint32_t *fresh)
{
	for (int64_t i = top; i > changed; i--) {
		struct memo_frame *f = &m->fresh[(*fresh)++];

		*f = m->frames[i];
		f->fp = w->fp;
		if (f->fp_at) {
			f->fp_value = *(const uint64_t *)(uintptr_t)
					       f->fp_at; /* NOLINT: as in memo_verify */
			w->fp = f->fp_value;
		}
	}
	const struct memo_frame *last = &m->frames[changed];
	w->pc = last->pc;
	w->sp = last->sp;
	w->exact = last->module & SEGMENT_NODE_EXACT;
}

/* Whether the walk has come to frames[*top] or, if not, to which memo frame it may come next: those
 * further in than w are behind it. */
static inline bool has_met(const struct walk *w, const struct memo *m, int64_t *top)
{
	while (*top >= 0 && m->frames[*top].sp < w->sp)
		--*top;
	return *top >= 0 && memo_is_frame(&m->frames[*top], w->pc, w->sp, w->fp, w->exact);
}

/* The number of memo frames that the new walk ends with, or a reason why there are none. The frames
 * before them are m->fresh[0..*fresh). */
static enum walk_result walk_to_memo(struct walk *w, struct memo *m, uint32_t *fresh,
				     uint32_t *kept)
{
	int64_t top = (int64_t)m->count - 1;
	enum walk_result result = WALK_ON;
	struct rule rule;

	*kept = 0;
	*fresh = 0;
	do {
		if (has_met(w, m, &top)) {
			int64_t changed = memo_verify(m, (uint32_t)top);

			*kept = (uint32_t)top + 1;
			if (changed < 0)
				return WALK_END;
			if (*fresh + (uint32_t)(top - changed) >= m->room)
				return WALK_COMPLEX;
			take_over(w, m, top, changed, fresh);
			*kept = 0;
			top = changed - 1;
		}
		if (*fresh == m->room)
			return WALK_COMPLEX; /* deeper than is kept: walk_full knows how to cut */
		rules_find(w->t, walk_lookup_address(w), &rule);
		struct memo_frame *f = &m->fresh[(*fresh)++];
		describe(f, w, rule.module);
		result = step(w, &rule, f);
	} while (result == WALK_ON);
	return result;
}

/* ---- the walk
 * -------------------------------------------------------------------------------------------- */

/* Gives the frames from `kept` on their nodes. */
static uint32_t intern(struct thread *t, struct memo *m, uint32_t kept)
{
	const struct stacktree tree = stacktree_get();
	uint32_t node = kept ? m->frames[kept - 1].node : 0;

	for (uint32_t i = kept; i < m->count; i++) {
		struct memo_frame *f = &m->frames[i];
		const struct walk_frame key = {.pc = f->pc, .module = f->module};

		/* A wrapper of ours between the program and its allocator is not shown. */
		if ((f->module & SEGMENT_NODE_MODULE_MASK) != process->own_module)
			node = stacktree_child(&tree, node, &key, &t->spare_node);
		f->node = node;
	}
	return node;
}

static NOINLINE uint32_t walk_over(struct thread *t, const struct walk_start *start)
{
	t->memo.count = 0;
	t->memo.extra_count = 0;
	return stacktree_intern(t, walk_full(t, start));
}

static NOINLINE uint32_t walk_new(struct thread *t, const struct walk_start *start)
{
	struct memo *m = &t->memo;
	uint32_t fresh, kept;
	struct walk w;

	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	if (m->generation != generation) {
		m->generation = generation;
		m->count = 0;
		m->extra_count = 0;
	}
	walk_begin(&w, t, start);
	if (walk_to_memo(&w, m, &fresh, &kept) != WALK_END || w.far ||
	    !memo_replace(m, kept, fresh))
		return walk_over(t, start);
	return intern(t, m, kept);
}

uint32_t walk_node(struct thread *t, const struct walk_start *start)
{
	struct memo *m = &t->memo;

	/* The same call from the same place as the last time: nothing to walk if nothing has
	 * changed. */
	if (likely(m->count)) {
		uint32_t top = m->count - 1;
		const struct memo_frame *f = &m->frames[top];

		if (memo_is_frame(f, start->pc, start->sp, start->fp, 0) &&
		    m->generation ==
			    atomic_load_explicit(&modules_generation, memory_order_acquire) &&
		    memo_verify(m, top) < 0)
			return f->node;
	}
	return walk_new(t, start);
}
