/* walk.c -- the call stack of the calling thread, from its unwind tables.
 * Runs: any thread of the target, inside malloc. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame is (pc, sp, fp); the rule of its pc leads to the caller's. That is all that nearly every
 * frame needs. Where one needs another register (the loader's lazy-binding stubs, hand-written
 * assembly) the walk starts over from here with all preserved registers in hand.
 *
 * Reads are plain where the memory is known to be mapped (from the stack pointer to the top of the
 * thread's stack), and go through process_vm_readv elsewhere, so that a wild frame ends the walk
 * and never faults. */
#include "capture/walk.h"

#include <sys/uio.h>

#include "capture/host.h"
#include "capture/modules.h"
#include "capture/rules.h"

#define HARD_LIMIT   (1u << 16) /* frames looked at for one stack */
#define SIGNAL_LIMIT 64		/* signal frames in one stack */

struct walk {
	struct thread *t;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t low; /* plain reads are safe in [low, low + span] */
	uint64_t span;
	uint64_t exact; /* SEGMENT_NODE_EXACT if pc itself was executing, else 0 */
	uint32_t count; /* frames seen */
	uint32_t signals;
	uint32_t leaf_room; /* frames kept at the leaf end when cut */
	uint32_t root_room;
	uint32_t own_module;
};

enum step { STEP_ON, STEP_END, STEP_LOST, STEP_COMPLEX };

/* ---- reading ----------------------------------------------------------------------------------
 */

static NOINLINE bool fetch_window(struct thread *t, uint64_t address)
{
	struct iovec local = {.iov_base = t->window, .iov_len = sizeof(t->window)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, /* NOLINT */
			       .iov_len = sizeof(t->window)};

	/* A read that runs into unmapped memory is short at page granularity of the remote vector,
	 * so ask for what is left of the page as well when the whole fails. */
	long got = HOST_CALL6(SYS_process_vm_readv, process->pid, &local, 1, &remote, 1, 0);
	if (got < 8) {
		remote.iov_len = 8;
		got = HOST_CALL6(SYS_process_vm_readv, process->pid, &local, 1, &remote, 1, 0);
	}
	t->window_start = address;
	t->window_words = got < 8 ? 0 : (uint32_t)got / 8;
	return got >= 8;
}

static NOINLINE bool read_far(struct thread *t, uint64_t address, uint64_t *value)
{
	if (address - t->window_start >= (uint64_t)t->window_words * 8 && !fetch_window(t, address))
		return false;
	*value = t->window[(address - t->window_start) / 8];
	return true;
}

static inline bool read_word(struct walk *w, uint64_t address, uint64_t *value)
{
	if (unlikely(address & 7))
		return false;
	if (likely(address - w->low <= w->span)) {
		*value = *(const uint64_t *)(uintptr_t)address; /* NOLINT: checked above */
		return true;
	}
	return read_far(w->t, address, value);
}

static bool read_for_expression(void *context, uint64_t address, uint64_t *value)
{
	return read_word(context, address, value);
}

/* Whether the frame's stack pointer can move to `cfa`: outwards, and not absurdly far. */
static inline bool is_outward(const struct walk *w, uint64_t cfa)
{
	return cfa - w->sp - ARCH_STACK_STEP < (UINT64_C(1) << 30);
}

/* ---- keeping frames
 * ------------------------------------------------------------------------------ */

/* The first leaf_room frames are kept in order; the others in a ring behind a gap of one, of which
 * the last root_room remain. */
static inline void keep(struct walk *w, uint32_t module)
{
	struct walk_frame *f = w->t->frames;

	if (unlikely(module == w->own_module))
		return; /* a wrapper of ours between the program and its allocator */
	uint32_t i = w->count++;
	if (unlikely(i >= w->leaf_room))
		i = w->leaf_room + 1 + (i - w->leaf_room) % w->root_room;
	f[i].pc = w->pc;
	f[i].module = module | w->exact;
}

static void reverse(struct walk_frame *f, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct walk_frame other = f[i];

		f[i] = f[n - 1 - i];
		f[n - 1 - i] = other;
	}
}

/* Closes the gap, or marks the cut and puts the ring in order. */
static uint32_t finish(struct walk *w)
{
	struct walk_frame *f = w->t->frames;
	uint32_t outer = w->count - w->leaf_room;

	if (w->count <= w->leaf_room)
		return w->count;
	if (outer <= w->root_room) {
		__builtin_memmove(f + w->leaf_room, f + w->leaf_room + 1, outer * sizeof(*f));
		return w->count;
	}
	struct walk_frame *ring = f + w->leaf_room + 1;
	uint32_t first = outer % w->root_room;
	reverse(ring, first);
	reverse(ring + first, w->root_room - first);
	reverse(ring, w->root_room);
	f[w->leaf_room] = (struct walk_frame){.module = SEGMENT_NODE_CUT};
	thread_count(&w->t->slot->losses.truncated_stacks);
	return w->leaf_room + 1 + w->root_room;
}

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static bool move(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->pc = arch_strip(pc);
	w->sp = sp;
	w->fp = fp;
	w->exact = 0;
	return w->pc != 0;
}

/* Without unwind information: the frame record that fp points to, if it lies outwards on this
 * stack. */
static NOINLINE enum step step_record(struct walk *w)
{
	uint64_t pc, fp;

	if (w->fp < w->sp || !is_outward(w, w->fp + 16) || !read_word(w, w->fp, &fp) ||
	    !read_word(w, w->fp + 8, &pc) || pc < 4096)
		return STEP_LOST;
	return move(w, pc, w->fp + 16, fp) ? STEP_ON : STEP_END;
}

/* Past a signal handler: the interrupted code's registers, from the kernel's frame. */
static NOINLINE enum step step_signal(struct walk *w)
{
	uint64_t pc, sp, fp;

	if (++w->signals > SIGNAL_LIMIT ||
	    !read_word(w, arch_signal_slot(w->sp, ARCH_REG_PC), &pc) ||
	    !read_word(w, arch_signal_slot(w->sp, ARCH_REG_SP), &sp) ||
	    !read_word(w, arch_signal_slot(w->sp, ARCH_REG_FP), &fp))
		return STEP_LOST;
	if (!move(w, pc, sp, fp))
		return STEP_END;
	w->exact = SEGMENT_NODE_EXACT;
	return STEP_ON;
}

static inline enum step step(struct walk *w, const struct rule *r)
{
	uint64_t cfa, pc, fp = w->fp;

	switch (r->kind) {
	case RULE_SP:
		cfa = w->sp + r->cfa;
		break;
	case RULE_FP:
		cfa = w->fp + r->cfa;
		break;
	case RULE_FP_DEREF:
		if (!read_word(w, w->fp - r->cfa, &cfa) || !read_word(w, w->fp, &fp))
			return STEP_LOST;
		break;
	case RULE_END:
		return STEP_END;
	case RULE_SIGNAL:
		return step_signal(w);
	case RULE_COMPLEX:
		return STEP_COMPLEX;
	default:
		return step_record(w);
	}
	if (!is_outward(w, cfa) || !read_word(w, cfa - r->ra, &pc) ||
	    (r->fp && !read_word(w, cfa - r->fp, &fp)))
		return STEP_LOST;
	return move(w, pc, cfa, fp) ? STEP_ON : STEP_END;
}

static inline uint64_t lookup_address(const struct walk *w)
{
	return w->exact ? w->pc : w->pc - 1;
}

/* ---- with all registers
 * ---------------------------------------------------------------------------- */

static bool restore_register(struct walk *w, const uint64_t regs[ARCH_REGS], uint64_t cfa,
			     uint32_t reg, uint64_t *value)
{
	const struct cfi_rule *rule = &w->t->cfi.row.regs[reg];
	uint64_t at;

	switch (rule->kind) {
	case CFI_OFFSET:
		return read_word(w, cfa + (uint64_t)rule->value, value);
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)rule->value;
		return true;
	case CFI_REGISTER:
		*value = rule->value < ARCH_REGS ? regs[rule->value] : 0;
		return true;
	case CFI_EXPRESSION:
		return cfi_evaluate(rule, regs, &cfa, read_for_expression, w, &at) &&
		       read_word(w, at, value);
	case CFI_VAL_EXPRESSION:
		return cfi_evaluate(rule, regs, &cfa, read_for_expression, w, value);
	default:
		*value = regs[reg];
		return true;
	}
}

static bool find_cfa(struct walk *w, const uint64_t regs[ARCH_REGS], uint64_t *cfa)
{
	const struct cfi_row *row = &w->t->cfi.row;

	if (row->cfa.kind == CFI_VAL_EXPRESSION)
		return cfi_evaluate(&row->cfa, regs, NULL, read_for_expression, w, cfa);
	*cfa = regs[row->cfa_register] + (uint64_t)row->cfa.value;
	return true;
}

static enum step step_full_signal(struct walk *w, uint64_t regs[ARCH_REGS])
{
	uint64_t sp = w->sp;
	enum step result = step_signal(w);

	for (int reg = 0; reg < ARCH_REGS && result == STEP_ON; reg++)
		if (!read_word(w, arch_signal_slot(sp, reg), &regs[reg]))
			return STEP_LOST;
	return result;
}

/* One frame outwards with `regs` belonging to (w->pc, w->sp, w->fp), by the full row of its pc. */
static enum step step_full(struct walk *w, uint64_t regs[ARCH_REGS], uint32_t *module)
{
	struct cfi_entry entry;
	uint64_t next[ARCH_REGS];
	uint64_t cfa;

	if (!rules_find_row(w->t, lookup_address(w), &entry, module)) {
		if (*module && arch_is_sigreturn(w->pc))
			return step_full_signal(w, regs);
		enum step result = step_record(w);
		regs[ARCH_REG_FP] = w->fp;
		regs[ARCH_REG_SP] = w->sp;
		return result;
	}
	if (entry.signal_frame)
		return step_full_signal(w, regs);
	if (w->t->cfi.row.regs[entry.ra_register].kind == CFI_UNDEFINED)
		return STEP_END;
	if (!find_cfa(w, regs, &cfa) || !is_outward(w, cfa))
		return STEP_LOST;
	for (uint32_t reg = 0; reg < ARCH_REGS; reg++)
		if (!restore_register(w, regs, cfa, reg, &next[reg]))
			return STEP_LOST;
	next[ARCH_REG_SP] = cfa;
	uint64_t pc = next[entry.ra_register];
	__builtin_memcpy(regs, next, sizeof(next));
	return move(w, pc, cfa, regs[ARCH_REG_FP]) ? STEP_ON : STEP_END;
}

/* The whole walk again, from this very function outwards; frames count from the hook's caller on.
 */
static NOINLINE enum step walk_full(struct walk *w, const struct walk_start *start)
{
	uint64_t regs[ARCH_REGS] = {0};
	enum step result = STEP_ON;
	uint32_t module;

	arch_capture(regs);
	*w = (struct walk){.t = w->t,
			   .pc = regs[ARCH_REG_PC],
			   .sp = regs[ARCH_REG_SP],
			   .fp = regs[ARCH_REG_FP],
			   .low = regs[ARCH_REG_SP],
			   .span = w->span ? w->low + w->span - regs[ARCH_REG_SP] : 0,
			   .exact = SEGMENT_NODE_EXACT,
			   .leaf_room = w->leaf_room,
			   .root_room = w->root_room,
			   .own_module = w->own_module};
	bool outside = false;
	for (uint32_t i = 0; i < HARD_LIMIT && result == STEP_ON; i++) {
		struct walk here = *w;

		outside = outside || (w->pc == start->pc && w->sp == start->sp);
		result = step_full(w, regs, &module);
		if (outside) {
			struct walk after = *w;

			*w = here;
			keep(w, module);
			after.count = w->count;
			*w = after;
		}
	}
	return outside ? result : STEP_LOST;
}

/* ---- the walk
 * -------------------------------------------------------------------------------------- */

static inline enum step walk_fast(struct walk *w)
{
	enum step result = STEP_ON;
	struct rule rule;

	for (uint32_t i = 0; result == STEP_ON && i < HARD_LIMIT; i++) {
		rules_find(w->t, lookup_address(w), &rule);
		keep(w, rule.module);
		result = step(w, &rule);
	}
	return result;
}

uint32_t walk_stack(struct thread *t, const struct walk_start *start)
{
	struct walk w = {.t = t,
			 .pc = start->pc,
			 .sp = start->sp,
			 .fp = start->fp,
			 .own_module = process->own_module};

	w.root_room = t->max_depth / 4;
	w.leaf_room = t->max_depth - w.root_room - 1;
	w.low = start->sp;
	w.span = t->stack_high > start->sp + 8 ? t->stack_high - start->sp - 8 : 0;
	t->window_words = 0;

	enum step result = walk_fast(&w);
	if (unlikely(result == STEP_COMPLEX))
		result = walk_full(&w, start);
	if (unlikely(result == STEP_LOST)) {
		thread_count(&t->slot->losses.unwind_failures);
		thread_count(&t->slot->losses.truncated_stacks);
	}
	return finish(&w);
}
