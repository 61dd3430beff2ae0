/* walk_step.c -- how a walk reads the stack, and the steps that are not everyday ones.
 * Runs: any thread of the target, inside malloc. Called by walk.c and walk_full.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/walk_step.h"

#include <sys/uio.h>

#include "capture/modules.h"
#include "capture/nearby.h"
#include "capture/returns.h"
#include "capture/walk.h"

void walk_begin(struct walk *w, struct thread *t, const struct walk_start *start)
{
	*w = (struct walk){.t = t,
			   .pc = start->pc,
			   .sp = start->sp,
			   .fp = start->fp,
			   .low = UINT64_MAX}; /* no aligned address is in [low, low + span] */
	w->generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	if (stackrange_covers(&t->stack, start->sp)) {
		w->low = start->sp;
		w->span = t->stack.high - start->sp - 8;
	}
	t->window_words = 0;
	t->doubtful = false;
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
