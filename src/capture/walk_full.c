/* walk_full.c -- a whole walk with all registers and without the memo, for the stacks that need it.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/walk_full.h"

#include <string.h>

#include "capture/cfi.h"
#include "capture/rules.h"
#include "capture/walk_goal.h"
#include "capture/walk_sink.h"
#include "capture/walk_step.h"

/* ---- steps with all registers ---------------------------------------------------------------- */

static bool read_for_expression(void *context, uint64_t address, uint64_t *value)
{
	return walk_read(context, address, value);
}

static bool restore_register(struct walk *w, const uint64_t regs[ARCH_REGS], uint64_t cfa,
			     uint32_t reg, uint64_t *value)
{
	const struct cfi_memory memory = {.read = read_for_expression, .context = w};
	const struct cfi_rule *rule = &w->t->cfi.row.regs[reg];
	uint64_t at;

	switch (rule->kind) {
	case CFI_OFFSET:
		return walk_read(w, cfa + (uint64_t)rule->value, value);
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)rule->value;
		return true;
	case CFI_REGISTER:
		*value = rule->value < ARCH_REGS ? regs[rule->value] : 0;
		return true;
	case CFI_EXPRESSION:
		return cfi_evaluate(rule, regs, &cfa, &memory, &at) && walk_read(w, at, value);
	case CFI_VAL_EXPRESSION:
		return cfi_evaluate(rule, regs, &cfa, &memory, value);
	default:
		*value = regs[reg];
		return true;
	}
}

static bool find_cfa(struct walk *w, const uint64_t regs[ARCH_REGS], uint64_t *cfa)
{
	const struct cfi_memory memory = {.read = read_for_expression, .context = w};
	const struct cfi_row *row = &w->t->cfi.row;

	if (row->cfa.kind == CFI_VAL_EXPRESSION)
		return cfi_evaluate(&row->cfa, regs, NULL, &memory, cfa);
	*cfa = regs[row->cfa_register] + (uint64_t)row->cfa.value;
	return true;
}

static enum walk_result step_signal(struct walk *w, uint64_t regs[ARCH_REGS])
{
	struct memo_frame unused = {0};
	uint64_t sp = w->sp;
	enum walk_result result = walk_step_signal(w, &unused);

	for (int reg = 0; reg < ARCH_REGS && result == WALK_ON; reg++)
		if (!walk_read(w, arch_signal_slot(sp, reg), &regs[reg]))
			return WALK_LOST;
	return result;
}

static enum walk_result step_without_row(struct walk *w, uint64_t regs[ARCH_REGS], uint32_t kind)
{
	struct memo_frame unused = {0};

	if (kind == RULE_SIGNAL)
		return step_signal(w, regs);
	if (kind == RULE_END)
		return WALK_END;
	enum walk_result result = walk_step_record(w, &unused);
	regs[ARCH_REG_FP] = w->fp;
	regs[ARCH_REG_SP] = w->sp;
	return result;
}

static bool is_in_memory(const struct cfi_rule *rule)
{
	return rule->kind == CFI_OFFSET || rule->kind == CFI_EXPRESSION;
}

/* A leaf may have no frame at all where calls leave the return address in a register. */
static bool is_leaf(const struct walk *w, uint64_t cfa, uint32_t ra_register)
{
	return ARCH_STACK_STEP == 0 && cfa == w->sp &&
	       !is_in_memory(&w->t->cfi.row.regs[ra_register]);
}

/* One frame outwards with `regs` belonging to (w->pc, w->sp, w->fp), by the full row of its pc. */
static enum walk_result step(struct walk *w, uint64_t regs[ARCH_REGS], uint32_t *place)
{
	struct cfi_entry entry;
	uint64_t next[ARCH_REGS];
	uint64_t address = walk_lookup_address(w);
	uint32_t kind = rule_kind(rules_find(w->t, address, w->generation, place));
	uint64_t cfa;

	if (kind == RULE_SIGNAL || kind == RULE_END || kind == RULE_NONE ||
	    !rules_find_row(w->t, address, &entry))
		return step_without_row(w, regs, kind);
	if (!find_cfa(w, regs, &cfa))
		return WALK_LOST;
	if (!walk_is_outward(w, cfa) && !(is_leaf(w, cfa, entry.ra_register) && walk_may_stay(w)))
		return WALK_LOST;
	for (uint32_t reg = 0; reg < ARCH_REGS; reg++)
		if (!restore_register(w, regs, cfa, reg, &next[reg]))
			return WALK_LOST;
	next[ARCH_REG_SP] = cfa;
	__builtin_memcpy(regs, next, sizeof(next));
	return walk_move(w, next[entry.ra_register], cfa, regs[ARCH_REG_FP]);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* A stack that was too deep as well is counted as truncated by the sink. */
static void count_lost(const struct thread *t, const struct walk_sink *sink)
{
	thread_count(&t->slot->losses.unwind_failures);
	if (sink->count <= t->max_depth)
		thread_count(&t->slot->losses.truncated_stacks);
}

/* In the function that is walked from. */
static inline __attribute__((always_inline)) void begin_here(struct walk *w, struct thread *t,
							     uint64_t regs[ARCH_REGS])
{
	arch_capture(regs);
	const struct walk_start here = {
		.pc = regs[ARCH_REG_PC], .sp = regs[ARCH_REG_SP], .fp = regs[ARCH_REG_FP]};
	walk_begin(w, t, &here);
	w->exact = MEMO_EXACT;
}

NOINLINE void walk_full_to_goal(struct thread *t, const struct walk_start *start,
				struct walk_goal *goal, struct walk_sink *sink)
{
	uint64_t regs[ARCH_REGS] = {0};
	enum walk_result result = WALK_ON;
	bool outside = false;
	struct walk w;

	/* From this very function outwards; frames count from the hook's caller on. */
	begin_here(&w, t, regs);
	for (uint32_t i = 0; i < WALK_HARD_LIMIT && result == WALK_ON; i++) {
		uint32_t exact = w.exact ? SEGMENT_NODE_EXACT : 0;
		uint32_t place;

		uint64_t sp = w.sp, address = walk_lookup_address(&w);

		outside = outside || (w.pc == start->pc && w.sp == start->sp);
		result = step(&w, regs, &place);
		if (outside && goal && walk_goal_is(goal, address, sp, w.sp)) {
			if (!walk_goal_pass(goal, sink))
				return;
		} else if (outside) {
			walk_sink_keep(sink, place | exact);
		}
	}
	if (result != WALK_END)
		count_lost(t, sink);
}

NOINLINE uint32_t walk_full(struct thread *t, const struct walk_start *start)
{
	struct walk_sink sink;

	walk_sink_init(&sink, t);
	walk_full_to_goal(t, start, NULL, &sink);
	return walk_sink_finish(&sink, &t->slot->losses);
}

NOINLINE uint64_t walk_full_leave(struct thread *t, const struct modules_area *object,
				  uint64_t regs[ARCH_REGS])
{
	bool inside = false;
	struct walk w;

	memset(regs, 0, ARCH_REGS * sizeof(regs[0]));
	begin_here(&w, t, regs);
	for (uint32_t i = 0; i < WALK_HARD_LIMIT; i++) {
		bool was_inside = inside;
		uint32_t place;

		inside = modules_area_holds(object, walk_lookup_address(&w));
		if (was_inside && !inside)
			return w.sp;
		if (step(&w, regs, &place) != WALK_ON)
			break;
	}
	return 0;
}
