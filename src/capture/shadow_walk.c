/* shadow_walk.c -- the call stack of a thread whose functions say that they are entered.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame that called another instrumented function is shown where that was called, as in any
 * walk. Where code without instrumentation lies between the two, the outer one is shown at its
 * beginning, and of what is between the function that made the call. */
#include "capture/shadow_walk.h"

#include "capture/cold.h"
#include "capture/rules.h"
#include "capture/stacktree.h"

#define LEAF_MOST 32u /* frames of code without instrumentation between a function and malloc */

static void add(struct thread *t, const struct stacktree *tree, struct shadow_frame *f,
		uint32_t place, bool *full)
{
	const struct stacktree_run run = {
		.outer = f->node, .outer_hash = f->hash, .places = &place, .count = 1};
	const uint32_t hash = stacktree_hash(f->hash, place);

	if (place & RULES_HIDDEN)
		return;
	uint32_t node = stacktree_find(tree, &run, hash);
	f->node = node ? node : stacktree_add(t, tree, &run, full);
	f->hash = hash;
	f->depth++;
}

static uint32_t get_place(struct thread *t, uint64_t pc, uint32_t generation)
{
	uint32_t place;

	(void)rules_find(t, pc - 1, generation, &place);
	return place;
}

/* Gives frame `i` the stack that is around it. */
static bool place_frame(struct thread *t, struct shadow *s, uint32_t i, uint32_t generation)
{
	const struct stacktree tree = stacktree_get();
	struct shadow_frame *f = &s->frames[i];
	bool full = false;

	f->node = i ? f[-1].node : 0;
	f->hash = i ? f[-1].hash : 0;
	f->depth = i ? f[-1].depth : 0;
	if (i && f[-1].cfa == f->cfa)
		return true; /* inlined */
	if (i && f->caller_cfa != f[-1].cfa)
		add(t, &tree, f, get_place(t, f[-1].pc, generation), &full);
	add(t, &tree, f, get_place(t, f->caller_pc, generation), &full);
	return !full && f->depth + LEAF_MOST < t->max_depth;
}

static bool place_all(struct thread *t, struct shadow *s, uint32_t generation)
{
	for (; s->known < s->count; s->known++)
		if (!place_frame(t, s, s->known, generation))
			return false;
	return true;
}

/* The frames from the hook's caller to that of the innermost function, in t->frames. 0: it does not
 * lead there. */
static uint32_t walk_leaf(struct thread *t, const struct walk_start *start, uint64_t goal,
			  uint32_t generation)
{
	struct shadow_step at = {.pc = start->pc, .sp = start->sp, .fp = start->fp};
	uint32_t count = 0;

	for (uint32_t i = 0; i < LEAF_MOST && count < t->max_depth; i++) {
		uint32_t place;
		uint64_t rule = rules_find(t, at.pc - 1, generation, &place);
		const struct rule r =
			rule_kind(rule) == RULE_WIDE ? rules_unpack(t->wide_rule) : rule_get(rule);

		if (!(place & RULES_HIDDEN))
			t->frames[count++] = place;
		if (!shadow_step_out(&at, &r, goal))
			return 0;
		if (at.sp == goal)
			return count;
	}
	return 0;
}

static uint32_t intern(struct thread *t, const struct shadow_frame *f, uint32_t count)
{
	const struct stacktree tree = stacktree_get();
	const struct stacktree_run run = {
		.outer = f->node, .outer_hash = f->hash, .places = t->frames, .count = count};
	uint32_t hash = f->hash;
	bool full = false;

	for (uint32_t i = count; i-- > 0;)
		hash = stacktree_hash(hash, t->frames[i]);
	uint32_t node = stacktree_find(&tree, &run, hash);
	return node ? node : stacktree_add(t, &tree, &run, &full);
}

static bool walk(struct thread *t, struct shadow *s, const struct walk_start *start,
		 uint32_t generation, uint32_t *node)
{
	if (s->count && s->frames[s->count - 1].sp < start->sp && cold_is_on_signal_stack())
		return false;
	while (s->count && s->frames[s->count - 1].sp < start->sp)
		shadow_pop(s); /* left without a word */
	if (!s->count || !place_all(t, s, generation))
		return false;
	const struct shadow_frame *f = &s->frames[s->count - 1];
	uint32_t count = walk_leaf(t, start, f->cfa, generation);
	if (count)
		*node = intern(t, f, count);
	return count != 0;
}

NOINLINE bool shadow_walk(struct thread *t, const struct walk_start *start, uint32_t generation,
			  uint32_t *node)
{
	struct shadow *s = shadow_self;

	if (!s || s->busy || s->pid != process->pid || !stackrange_covers(&t->stack, start->sp))
		return false;
	s->busy = start->sp;
	atomic_signal_fence(memory_order_seq_cst);
	t->doubtful = false;
	bool found = walk(t, s, start, generation, node);
	atomic_signal_fence(memory_order_seq_cst);
	s->busy = 0;
	return found;
}
