/* walk_step.h -- where a walk stands, how it reads the stack, and the steps that are not everyday
 * ones. Runs: any thread of the target, inside malloc. Shared by walk.c and walk_full.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_STEP_H
#define MIDDEN_CAPTURE_WALK_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/memo.h"
#include "capture/thread.h"

/* Frames looked at for one stack. A stack ends long before: every step leads outwards. This many
 * frames of the least size fill 256 MiB. */
#define WALK_HARD_LIMIT	  (1u << 24)

#define WALK_INWARD_LIMIT 64 /* signal frames in one stack, and leaves */

struct walk {
	struct thread *t;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t low; /* plain reads are safe in [low, low + span] */
	uint64_t span;
	uint64_t end;	     /* of what is known of a stack that is not the thread's own; or 0 */
	uint32_t exact;	     /* MEMO_EXACT if pc itself was executing, else 0 */
	uint32_t generation; /* of the loaded modules */
	uint32_t inward;     /* steps that need not lead outwards: signal frames and leaves */
	bool far; /* something was read that need not be there the next time: not for the memo */
};

enum walk_result {
	WALK_ON,
	WALK_END,
	WALK_LOST,    /* no way to go on */
	WALK_COMPLEX, /* needs registers that are not at hand */
};

struct walk_start;

/* Stands on the caller of a hook. */
void walk_begin(struct walk *w, struct thread *t, const struct walk_start *start);

/* Reads through the kernel, which says no instead of faulting. */
NOINLINE bool walk_read_far(struct walk *w, uint64_t address, uint64_t *value);

static inline bool walk_read(struct walk *w, uint64_t address, uint64_t *value)
{
	if (unlikely(address & 7))
		return false;
	if (likely(address - w->low <= w->span)) {
		*value = *(const uint64_t *)(uintptr_t)address; /* NOLINT: checked above */
		return true;
	}
	return walk_read_far(w, address, value);
}

/* Whether the frame's stack pointer can move to `cfa`: outwards, and not absurdly far. A frame
 * whose return address is in memory takes at least that word. */
static inline bool walk_is_outward(const struct walk *w, uint64_t cfa)
{
	return cfa - w->sp - 8 < (UINT64_C(1) << 30);
}

/* Counts a step that need not lead outwards. False: there were too many to be true. */
static inline bool walk_may_stay(struct walk *w)
{
	return ++w->inward <= WALK_INWARD_LIMIT;
}

/* Where the rule of the frame is looked up: inside the call, unless pc itself was executing. */
static inline uint64_t walk_lookup_address(const struct walk *w)
{
	return w->exact ? w->pc : w->pc - 1;
}

static inline enum walk_result walk_move(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->pc = arch_strip(pc);
	w->sp = sp;
	w->fp = fp;
	w->exact = 0;
	return w->pc ? WALK_ON : WALK_END;
}

/* Without unwind information: by the frame record that fp points to, if it lies outwards on this
 * stack and holds what can be a return address. `out` gets the words that were read. */
NOINLINE enum walk_result walk_step_record(struct walk *w, struct memo_frame *out);

/* Past a signal handler: to the interrupted code, by the kernel's frame. */
NOINLINE enum walk_result walk_step_signal(struct walk *w, struct memo_frame *out);

#endif
