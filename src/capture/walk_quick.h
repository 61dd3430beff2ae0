/* walk_quick.h -- the walk that has been done before: same start, same words, same memo.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each leaf end (shortcut.h) knows where on the stack it was found last, and with which memo. If a
 * walk starts there again, from the same pc, and finds the words of the leaf end and those of the
 * memo from its outer frame on as they were, it would read what it read then: the node is the same
 * (docs/hotpath.md). Only reads: whatever it cannot say is left to walk_node. */
#ifndef MIDDEN_CAPTURE_WALK_QUICK_H
#define MIDDEN_CAPTURE_WALK_QUICK_H

#include <stdatomic.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/memo.h"
#include "capture/modules.h"
#include "capture/shortcut.h"
#include "capture/thread.h"
#include "capture/walk_start.h"

#define WALK_QUICK inline __attribute__((always_inline))

/* Where every walk changes the memo, there is nothing to be found; one that has been of use to a
 * walk mostly is to more. */
static WALK_QUICK bool walk_quick_is_worthwhile(const struct thread *t)
{
	return likely(t->memo.lasting);
}

/* Return address of the frame where the walk starts, on which only the choice of a leaf end
 * depends; 0: not known. */
static WALK_QUICK uint64_t walk_quick_first(const struct thread *t, const struct walk_start *start)
{
	const struct shortcut_step *step = &t->shortcuts->steps[shortcut_step_index(start->pc - 1)];
	uint64_t at = start->sp + step->ra;

	if (unlikely(step->address != start->pc - 1))
		return 0;
	if (unlikely(step->cfa & (SHORTCUT_STEP_NONE | SHORTCUT_STEP_FP))) {
		if (step->cfa & SHORTCUT_STEP_NONE)
			return 0;
		at += start->fp - start->sp;
	}
	return likely(at - t->stack.low < t->stack.word_span) ? arch_strip(memo_read(at)) : 0;
}

static inline uint64_t walk_quick_difference(const struct shortcut *s, uint32_t i, uint64_t sp)
{
	return memo_read(sp + s->offsets[i] * UINT64_C(8)) ^ s->values[i];
}

/* Two at a time: shortcut.c pads them. */
static WALK_QUICK bool walk_quick_is_unchanged(const struct shortcut *s, uint64_t sp)
{
	uint64_t changed = walk_quick_difference(s, 0, sp) | walk_quick_difference(s, 1, sp);

	for (uint32_t i = 2; unlikely(i < s->word_count); i += 2)
		changed |= walk_quick_difference(s, i, sp) | walk_quick_difference(s, i + 1, sp);
	return changed == 0;
}

/* The node of the stack that starts here; 0: it is not known. Calls nothing. */
static WALK_QUICK uint32_t walk_quick_try(const struct thread *t, const struct walk_start *start)
{
	const struct memo *m = &t->memo;
	const struct shortcut_table *table = t->shortcuts;

	if (!walk_quick_is_worthwhile(t))
		return 0;
	/* Pairs with the release of whoever unloads. */
	if (unlikely(m->generation !=
		     atomic_load_explicit(&modules_generation, memory_order_acquire)))
		return 0;
	uint64_t first = walk_quick_first(t, start);
	const struct shortcut *s = &table->at[table->recent[shortcut_recent_index(start, first)]];
	__asm__("" : "+r"(s)); /* gcc would work it out again for each field */
	if (unlikely((s->pc ^ start->pc) | (s->sp ^ start->sp) | (s->serial ^ m->lasting)))
		return 0;
	if (unlikely(s->flags & (SHORTCUT_KEEPS_FP | SHORTCUT_EXTRA)) &&
	    (((s->flags & SHORTCUT_KEEPS_FP) && s->fp != start->fp) ||
	     !memo_are_extra_unchanged(m, s->outer)))
		return 0;
	if (unlikely(!walk_quick_is_unchanged(s, start->sp) || !memo_is_unchanged(m, s->outer)))
		return 0;
	return s->node;
}

#endif
