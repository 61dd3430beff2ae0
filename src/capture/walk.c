/* walk.c -- the call stack of the calling thread, from its unwind tables.
 * Runs: any thread of the target, inside malloc. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame is (pc, sp, fp); the rule of its pc leads to the caller's. That is all that nearly every
 * frame needs, and the memo of the last walk (memo.h) ends most walks after a few of them. Where a
 * frame needs another register (the loader's lazy-binding stubs, hand-written assembly), or the
 * stack is deeper than is kept, the walk is done over by walk_full, without the memo.
 *
 * Reads are plain where the memory is known to be mapped: from the stack pointer to the top of the
 * thread's stack; on other stacks to the end of its page, and on from there page by page as the
 * kernel says that they can be read. Elsewhere they go through process_vm_readv, so that a wild
 * frame ends the walk and never faults. */
#include "capture/walk.h"

#include "capture/host.h"
#include "capture/memo.h"
#include "capture/modules.h"
#include "capture/python.h"
#include "capture/rules.h"
#include "capture/say.h"
#include "capture/shadow_walk.h"
#include "capture/shortcut.h"
#include "capture/stacktree.h"
#include "capture/walk_full.h"
#include "capture/walk_goal.h"
#include "capture/walk_sink.h"
#include "capture/walk_step.h"

/* ---- steps ----------------------------------------------------------------------------------- */

static NOINLINE enum walk_result step_unusual(struct walk *w, uint64_t rule,
					      struct memo_frame *out);

/* One frame outwards; `out` gets the words that were read. */
static inline enum walk_result step_by(struct walk *w, const struct rule *r, struct memo_frame *out)
{
	uint64_t fp = w->fp;
	uint64_t cfa;

	if (likely(r->kind == RULE_SP)) {
		cfa = w->sp + r->cfa;
	} else if (r->kind == RULE_FP) {
		cfa = w->fp + r->cfa;
		out->flags |= MEMO_USES_FP;
	} else {
		out->flags |= MEMO_USES_FP;
		out->sp_at = w->fp - r->cfa;
		out->fp_at = w->fp;
		if (!walk_read(w, out->sp_at, &out->sp_value) ||
		    !walk_read(w, out->fp_at, &out->fp_value))
			return WALK_LOST;
		cfa = out->sp_value;
		fp = out->fp_value;
	}
	out->ra_at = cfa - r->ra;
	if (unlikely(!walk_is_outward(w, cfa) || !walk_read(w, out->ra_at, &out->ra_value)))
		return WALK_LOST;
	if (r->fp) {
		out->fp_at = cfa - r->fp;
		if (unlikely(!walk_read(w, out->fp_at, &out->fp_value)))
			return WALK_LOST;
		fp = out->fp_value;
	}
	return walk_move(w, out->ra_value, cfa, fp);
}

static inline enum walk_result step(struct walk *w, uint64_t rule, struct memo_frame *out)
{
	const struct rule r = rule_get(rule);

	if (unlikely(r.kind - RULE_SP > RULE_FP_DEREF - RULE_SP))
		return step_unusual(w, rule, out);
	return step_by(w, &r, out);
}

static NOINLINE enum walk_result step_unusual(struct walk *w, uint64_t rule, struct memo_frame *out)
{
	struct rule wide;

	switch (rule_kind(rule)) {
	case RULE_WIDE:
		wide = rules_unpack(w->t->wide_rule);
		return step_by(w, &wide, out);
	case RULE_END:
		out->ra_at = 0;
		out->ra_value = 0;
		return WALK_END;
	case RULE_SIGNAL:
		return walk_step_signal(w, out);
	case RULE_COMPLEX:
		return WALK_COMPLEX;
	default:
		return walk_step_record(w, out);
	}
}

/* ---- meeting the memo ------------------------------------------------------------------------ */

static inline struct memo_frame *add_fresh(struct memo *m, uint32_t *fresh, const struct walk *w)
{
	struct memo_frame *f = &m->fresh[(*fresh)++];

	f->pc = w->pc;
	f->sp = w->sp;
	f->fp = w->fp;
	f->fp_at = 0;
	f->sp_at = 0;
	f->flags = w->exact;
	return f;
}

/* Frames `top` down to `changed` of the memo are those of this walk too, but the step out of the
 * last is not. Takes them over as fresh ones, with the saved frame pointers as they are now, and
 * stands on the last. */
static void take_over(struct walk *w, struct memo *m, int64_t top, int64_t changed, uint32_t *fresh)
{
	for (int64_t i = top; i > changed; i--) {
		struct memo_frame *f = &m->fresh[(*fresh)++];

		*f = m->frames[i];
		f->flags &= ~(uint32_t)MEMO_NEEDS_FP; /* depends on the new outer frames */
		w->t->doubtful |= (f->flags & MEMO_RECORD) != 0;
		f->fp = w->fp;
		if (f->fp_at) {
			f->fp_value = *(const uint64_t *)(uintptr_t)f->fp_at; /* NOLINT */
			w->fp = f->fp_value;
		}
	}
	const struct memo_frame *last = &m->frames[changed];
	w->pc = last->pc;
	w->sp = last->sp;
	w->exact = last->flags & MEMO_EXACT;
}

/* Whether the walk has come to frames[*top]; memo frames further in than it are passed over. */
static inline bool has_met(const struct walk *w, const struct memo *m, int64_t *top)
{
	while (*top >= 0 && m->frames[*top].sp < w->sp)
		--*top;
	return *top >= 0 && memo_is_frame(&m->frames[*top], w->pc, w->sp, w->fp, w->exact);
}

/* Walks until the memo knows the rest, or to the end. The new stack is then the `kept` outermost
 * frames of the memo and fresh[0..*fresh) before them. */
static enum walk_result walk_to_memo(struct walk *w, struct memo *m, uint32_t *fresh,
				     uint32_t *kept)
{
	int64_t top = (int64_t)m->count - 1;
	enum walk_result result;

	*kept = 0;
	*fresh = 0;
	do {
		if (has_met(w, m, &top)) {
			int64_t changed = memo_verify(m, (uint32_t)top);

			if (likely(changed < 0)) {
				*kept = (uint32_t)top + 1;
				return WALK_END;
			}
			if (*fresh + (uint32_t)(top - changed) >= m->room)
				return WALK_COMPLEX;
			take_over(w, m, top, changed, fresh);
			top = changed - 1;
		}
		if (unlikely(*fresh == m->room))
			return WALK_COMPLEX; /* deeper than is kept: walk_full knows how to cut */
		struct memo_frame *f = add_fresh(m, fresh, w);
		uint64_t rule = rules_find(w->t, walk_lookup_address(w), w->generation, &f->place);
		result = step(w, rule, f);
	} while (result == WALK_ON);
	return result;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static inline uint32_t key_of(const struct memo_frame *f)
{
	return f->place | (f->flags & MEMO_EXACT ? SEGMENT_NODE_EXACT : 0);
}

/* The run of the `fresh` frames below the `kept` ones of the memo, with its places in t->frames,
 * and the hashes of their paths beside the frames. */
static inline struct stacktree_run gather(struct thread *t, struct memo *m, uint32_t fresh,
					  uint32_t kept)
{
	struct stacktree_run run = {.places = t->frames};

	if (likely(kept)) {
		run.outer = m->frames[kept - 1].node;
		run.outer_hash = m->frames[kept - 1].hash;
	}
	/* A wrapper of ours between the program and its allocator is not shown. */
	for (uint32_t i = 0; i < fresh; i++)
		if (likely(!(m->fresh[i].place & RULES_HIDDEN)))
			t->frames[run.count++] = key_of(&m->fresh[i]);
	uint32_t hash = run.outer_hash;
	for (uint32_t i = fresh; i-- > 0;) {
		if (likely(!(m->fresh[i].place & RULES_HIDDEN)))
			hash = stacktree_hash(hash, key_of(&m->fresh[i]));
		m->fresh[i].hash = hash;
	}
	return run;
}

/* Gives the frames from `kept` on, those of the run, their nodes. */
static inline uint32_t intern(struct thread *t, struct memo *m, uint32_t kept,
			      const struct stacktree_run *run)
{
	const struct stacktree tree = stacktree_get();
	uint32_t leaf = stacktree_find(&tree, run, m->frames[m->count - 1].hash);
	bool full = false;

	if (!leaf)
		leaf = stacktree_add(t, &tree, run, &full);
	if (unlikely(full)) {
		memo_clear(m); /* the frames do not all have nodes */
		return leaf;
	}
	uint32_t node = leaf;
	for (uint32_t i = m->count; i-- > kept;) {
		m->frames[i].node = node;
		if (likely(!(m->frames[i].place & RULES_HIDDEN)))
			node = segment_node_parent(tree.nodes, node);
	}
	return leaf;
}

/* A stack too deep for the memo, by the cached rules. False: it needs all registers after all. */
static bool walk_deep(struct thread *t, const struct walk_start *start, uint32_t *count)
{
	enum walk_result result = WALK_ON;
	struct memo_frame unused = {0};
	struct walk_sink sink;
	struct walk w;
	uint64_t rule = 0, last = 0;
	uint32_t place = 0;

	walk_begin(&w, t, start);
	walk_sink_init(&sink, t);
	for (uint32_t i = 0; i < WALK_HARD_LIMIT && result == WALK_ON; i++) {
		uint32_t exact = w.exact ? SEGMENT_NODE_EXACT : 0;
		uint64_t address = walk_lookup_address(&w);

		/* So deep a stack is recursion, and that often from one place. */
		if (address != last)
			rule = rules_find(t, address, w.generation, &place);
		last = address;

		result = step(&w, rule, &unused);
		walk_sink_keep(&sink, place | exact);
	}
	if (result != WALK_END)
		return false;
	*count = walk_sink_finish(&sink, &t->slot->losses);
	return true;
}

bool walk_to_goal(struct thread *t, const struct walk_start *start, struct walk_goal *goal,
		  struct walk_sink *sink)
{
	enum walk_result result = WALK_ON;
	struct walk w;

	walk_begin(&w, t, start);
	goal->generation = w.generation;
	for (uint32_t i = 0; i < WALK_HARD_LIMIT && result == WALK_ON; i++) {
		uint32_t exact = w.exact ? SEGMENT_NODE_EXACT : 0;
		uint64_t sp = w.sp, address = walk_lookup_address(&w);
		struct memo_frame unused, *f = &unused;

		if (goal->count < goal->room)
			f = &goal->frames[goal->count++];
		else
			goal->is_odd = true;
		*f = (struct memo_frame){.flags = w.exact};
		uint64_t rule = rules_find(t, address, w.generation, &f->place);
		result = step(&w, rule, f);
		goal->is_odd |= w.far;
		if (!walk_goal_is(goal, address, sp, w.sp))
			walk_sink_keep(sink, f->place | exact);
		else if (!walk_goal_pass(goal, sink))
			return true;
	}
	return result == WALK_END;
}

/* Interns a walk that the memo may not keep: it went over a stack other than the thread's own, or
 * it was lost, at a frame that all registers would not lead out of either. */
static NOINLINE uint32_t walk_unkept(struct thread *t, const struct stacktree_run *run,
				     uint32_t hash, bool is_lost)
{
	const struct stacktree tree = stacktree_get();
	uint32_t leaf = stacktree_find(&tree, run, hash);
	bool full = false;

	memo_clear(&t->memo);
	if (is_lost) {
		thread_count(&t->slot->losses.unwind_failures);
		thread_count(&t->slot->losses.truncated_stacks);
	}
	return leaf ? leaf : stacktree_add(t, &tree, run, &full);
}

static NOINLINE uint32_t walk_over(struct thread *t, const struct walk_start *start)
{
	uint32_t count;

	memo_clear(&t->memo);
	if (!walk_deep(t, start, &count))
		count = walk_full(t, start);
	return stacktree_intern(t, count);
}

static inline uint32_t walk_quickly(struct thread *t, const struct walk_start *start);

/* Where there is Python, a walk is of its frames too, which say themselves what has changed; where
 * functions say that they are entered, most of it need not be walked. So that other programs pay
 * nothing for the question, the memo then never is of the generation that walk_quickly asks for,
 * but while no frame of theirs is there. */
static NOINLINE uint32_t walk_helped(struct thread *t, const struct walk_start *start,
				     uint32_t generation)
{
	struct memo *m = &t->memo;
	uint32_t node;

	if (python_is_here() ? python_walk(t, start, &node)
			     : shadow_walk(t, start, generation, &node))
		return node;
	if (t->native_generation != generation) {
		memo_clear(m);
		shortcut_forget_steps(t->shortcuts);
	}
	m->generation = generation;
	node = walk_quickly(t, start);
	t->native_generation = m->generation;
	m->generation = 0;
	return node;
}

static uint32_t walk_new(struct thread *t, const struct walk_start *start);

/* A walk with nothing remembered. It may be what finds the interpreter, by coming through it, as
 * the first one of a process that was forked does: then its frames are wanted. */
static NOINLINE uint32_t walk_cold(struct thread *t, const struct walk_start *start)
{
	memo_clear(&t->memo);
	shortcut_forget_steps(t->shortcuts);
	uint32_t node = walk_new(t, start);

	if (!python_is_here())
		return node;
	return walk_helped(t, start,
			   atomic_load_explicit(&modules_generation, memory_order_acquire));
}

static NOINLINE uint32_t walk_new(struct thread *t, const struct walk_start *start)
{
	struct memo *m = &t->memo;
	uint32_t fresh, kept;
	struct walk w;

	walk_begin(&w, t, start);
	if (unlikely(m->generation != w.generation)) {
		m->generation = w.generation;
		return walk_cold(t, start);
	}
	const enum walk_result result = walk_to_memo(&w, m, &fresh, &kept);
	if (unlikely(result == WALK_COMPLEX))
		return walk_over(t, start);
	const struct stacktree tree = stacktree_get();
	const struct stacktree_run run = gather(t, m, fresh, kept);
	if (unlikely(result == WALK_LOST || w.far))
		return walk_unkept(t, &run, fresh ? m->fresh[0].hash : run.outer_hash,
				   result == WALK_LOST);
	/* In time for intern. */
	stacktree_prefetch(&tree, fresh ? m->fresh[0].hash : 0);
	if (unlikely(!memo_replace(m, kept, fresh)))
		return walk_over(t, start);
	uint32_t node = intern(t, m, kept, &run);
	shortcut_note(t, kept);
	return node;
}

static inline uint32_t walk_quickly(struct thread *t, const struct walk_start *start)
{
	struct memo *m = &t->memo;
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);

	/* The same call from the same place as the last time: nothing to walk if nothing
	 * changed. */
	if (likely(m->count && m->generation == generation)) {
		const struct memo_frame *f = &m->frames[m->count - 1];

		if (memo_is_frame(f, start->pc, start->sp, start->fp, 0) &&
		    memo_verify(m, m->count - 1) < 0) {
			memo_last(m);
			return f->node;
		}
		uint32_t node = shortcut_find(t, start);
		if (node)
			return node;
	} else if (m->generation != generation && (python_is_here() || shadow_is_on)) {
		return walk_helped(t, start, generation);
	}
	return walk_new(t, start);
}

#ifdef MIDDEN_CHECK_WALKS

/* Whether the way up from a node passes t->frames[0..count), all of it. */
static bool is_node_of(const struct thread *t, uint32_t node, uint32_t count)
{
	const struct segment_node *nodes = process_node(0);

	for (uint32_t i = 0; i < count; i++) {
		if (!node || segment_node_place(nodes, node) != t->frames[i])
			return false;
		node = segment_node_parent(nodes, node);
	}
	return node == 0;
}

/* A fork child inside a hook of its parent's (orphan.h) has none of the nodes, in case a signal
 * handler has forked since the walk began. */
static void check_node(const struct thread *t, uint32_t node, uint32_t count)
{
	if (!is_node_of(t, node, count) && t->state != THREAD_ORPHAN)
		say("a walk differs from the full one");
}

/* For tests: every walk is done again from end to end, without the memo and leaf ends, each
 * MIDDEN_CHECK_WALKS-th by the unwind tables themselves instead of the cached rules; and must give
 * the same stack. */
uint32_t walk_node(struct thread *t, const struct walk_start *start)
{
	static _Thread_local uint32_t walks __attribute__((tls_model("initial-exec")));
	uint32_t quick = walk_quick_try(t, start);
	uint32_t count;

	if (!quick)
		quick = walk_quickly(t, start);
	if (shadow_is_on)
		return quick; /* it has no frames around the first instrumented function */
	if (python_is_here()) {
		if (python_walk_again(t, start, &count))
			check_node(t, quick, count);
		return quick;
	}
	if (++walks % MIDDEN_CHECK_WALKS == 0 || !walk_deep(t, start, &count))
		count = walk_full(t, start);
	check_node(t, quick, count);
	return quick;
}

#else

uint32_t walk_node(struct thread *t, const struct walk_start *start)
{
	return walk_quickly(t, start);
}

#endif

uint32_t walk_tagged_slowly(struct thread *t, const struct walk_start *start)
{
	return walk_tagged(t, start);
}
