/* walk_step.c -- how a walk reads the stack, and the steps that are not everyday ones.
 * Runs: any thread of the target, inside malloc. Called by walk.c and walk_full.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/walk_step.h"

#include <sys/uio.h>

#include "capture/modules.h"
#include "capture/nearby.h"
#include "capture/peek.h"
#include "capture/returns.h"
#include "capture/walk.h"

#define OUR_FRAMES (4 * PEEK_PAGE)  /* between a hook and here */
#define REACH	   (16 * PEEK_PAGE) /* hardly a frame is larger: what is further is elsewhere */

/* The first word of the next page. */
static uint64_t after_page(uint64_t address)
{
	return (address | (PEEK_PAGE - 1)) + 1;
}

/* Up to where a stack that is not the thread's own is there; 0: it is not. The word below the stack
 * pointer of who called us is: it is our return address, or of our frame. */
static uint64_t find_known_end(uint64_t sp)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	if (sp - here < OUR_FRAMES && sp % PEEK_PAGE)
		return after_page(sp);
	return peek_is_readable(sp) ? after_page(sp) : 0;
}

void walk_begin(struct walk *w, struct thread *t, const struct walk_start *start)
{
	*w = (struct walk){.t = t,
			   .pc = start->pc,
			   .sp = start->sp,
			   .fp = start->fp,
			   .low = UINT64_MAX}; /* no aligned address is in [low, low + span] */
	w->generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	t->window_words = 0;
	t->doubtful = false;
	if (stackrange_covers(&t->stack, start->sp)) {
		w->low = start->sp;
		w->span = t->stack.high - start->sp - 8;
		return;
	}
	w->far = true;
	if (start->sp % 8)
		return;
	w->end = find_known_end(start->sp);
	if (w->end) {
		w->low = start->sp;
		w->span = w->end - start->sp - 8;
	}
}

/* Whether a word of a stack that is not the thread's own can be read plainly: the pages up to it
 * are all there. That is asked page by page, which takes the kernel a fraction of what copying
 * takes it. */
static bool has_reached(struct walk *w, uint64_t address)
{
	if (!w->end || address - w->end >= REACH)
		return false;
	for (; w->end <= address; w->end += PEEK_PAGE)
		if (!peek_is_readable(w->end))
			return false;
	w->span = w->end - w->low - 8;
	return true;
}

static bool is_on_own_stack(const struct stackrange *r, uint64_t address)
{
	return r->high && address - r->low < r->word_span;
}

static bool fetch_window(struct thread *t, uint64_t address)
{
	int tid = (int)t->slot->tid; /* the process id fails once its main thread has ended */
	struct iovec local = {.iov_base = t->window, .iov_len = sizeof(t->window)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, /* NOLINT */
			       .iov_len = sizeof(t->window)};
	long got = HOST_CALL6(SYS_process_vm_readv, tid, &local, 1, &remote, 1, 0);

	/* One vector is read in whole or up to the first bad page, but some kernels give up on it
	 * at once. */
	if (got < 8) {
		remote.iov_len = 8;
		got = HOST_CALL6(SYS_process_vm_readv, tid, &local, 1, &remote, 1, 0);
	}
	t->window_start = address;
	t->window_words = got < 8 ? 0 : (uint32_t)got / 8;
	return got >= 8;
}

NOINLINE bool walk_read_far(struct walk *w, uint64_t address, uint64_t *value)
{
	struct thread *t = w->t;

	w->far = true;
	if (is_on_own_stack(&t->stack, address) || has_reached(w, address)) {
		*value = *(const uint64_t *)(uintptr_t)address; /* NOLINT: checked above */
		return true;
	}
	if (address - t->window_start >= (uint64_t)t->window_words * 8 && !fetch_window(t, address))
		return false;
	*value = t->window[(address - t->window_start) / 8];
	return true;
}

NOINLINE enum walk_result walk_step_record(struct walk *w, struct memo_frame *out)
{
	w->t->doubtful = true;
	out->flags |= MEMO_USES_FP | MEMO_RECORD;
	out->sp_at = 0;
	out->fp_at = w->fp;
	out->ra_at = w->fp + 8;
	if (w->fp < w->sp || !walk_is_outward(w, w->fp + 16) ||
	    !walk_read(w, out->fp_at, &out->fp_value) ||
	    !walk_read(w, out->ra_at, &out->ra_value) || !returns_has(w, arch_strip(out->ra_value)))
		return WALK_LOST;
	uint64_t sp = arch_record_sp(w->fp, out->fp_value);
	if (!walk_is_outward(w, sp))
		return WALK_LOST;
	/* The stack pointer comes out of the record on aarch64: then it has to be compared,
	 * whoever needs fp. */
	if (ARCH_RECORD_GIVES_SP) {
		out->sp_at = out->fp_at;
		out->sp_value = out->fp_value;
	}
	return walk_move(w, out->ra_value, sp, out->fp_value);
}

NOINLINE enum walk_result walk_step_signal(struct walk *w, struct memo_frame *out)
{
	out->ra_at = arch_signal_slot(w->sp, ARCH_REG_PC);
	out->sp_at = arch_signal_slot(w->sp, ARCH_REG_SP);
	out->fp_at = arch_signal_slot(w->sp, ARCH_REG_FP);
	if (!walk_may_stay(w) || !walk_read(w, out->ra_at, &out->ra_value) ||
	    !walk_read(w, out->sp_at, &out->sp_value) || !walk_read(w, out->fp_at, &out->fp_value))
		return WALK_LOST;
	/* A copy of code has no unwind tables; what it is a copy of has. */
	if (walk_move(w, nearby_get_origin(out->ra_value), out->sp_value, out->fp_value) ==
	    WALK_END)
		return WALK_END;
	w->exact = MEMO_EXACT;
	return WALK_ON;
}
