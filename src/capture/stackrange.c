/* stackrange.c -- which addresses of a thread's stack can be read without asking.
 * Runs: any thread of the target, inside malloc. Called by thread.c and walk_step.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stackrange.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/uio.h>

#include "capture/thread.h"

#define STEP_MOST (UINT64_C(16) << 20) /* how far a stack may grow between two allocations */
/* Where it cannot be asked, so much is taken for growth: no other stack is that near below. */
#define STEP_TRUSTED  (UINT64_C(256) << 10)
#define FIRST_MOST    (UINT64_C(1) << 32)
#define PAGES_AT_ONCE 64
#define FOREIGN_SHIFT 16

/* By a seccomp filter, or an emulator that does not know the call. */
static bool is_denial(long got)
{
	return got == -EPERM || got == -EACCES || got == -ENOSYS;
}

bool stackrange_is_denied(void)
{
	char from = 0, to;
	struct iovec local = {.iov_base = &to, .iov_len = 1};
	struct iovec remote = {.iov_base = &from, .iov_len = 1};

	return is_denial(HOST_CALL6(SYS_process_vm_readv, host_gettid(), &local, 1, &remote, 1, 0));
}

/* Reads one byte of each page in [low, high) through the kernel, which says no instead of
 * faulting: guard pages and gaps are found out. `trust` is the answer where the call itself is
 * forbidden. */
static bool is_readable(uint64_t low, uint64_t high, bool trust)
{
	uint64_t page = getauxval(AT_PAGESZ);
	struct iovec remote[PAGES_AT_ONCE];
	char bytes[PAGES_AT_ONCE];
	struct iovec local = {.iov_base = bytes};
	int pid = thread_tid();

	for (uint64_t at = low; at < high;) {
		unsigned count = 0;

		for (; count < PAGES_AT_ONCE && at < high; count++) {
			remote[count] =
				(struct iovec){.iov_base = (void *)(uintptr_t)at, /* NOLINT */
					       .iov_len = 1};
			at = (at & ~(page - 1)) + page;
		}
		local.iov_len = count;
		long got = HOST_CALL6(SYS_process_vm_readv, pid, &local, 1, remote, count, 0);
		if (is_denial(got))
			return trust;
		if (got != (long)count)
			return false;
	}
	return true;
}

static void set_low(struct stackrange *r, uint64_t low)
{
	r->low = low;
	r->word_span = r->high - low - 7;
}

/* The main thread's stack ends with the strings that the kernel put there; a pthread's ends with
 * its own descriptor, to which the thread pointer points. A fork child has one thread, on the stack
 * of whichever forked, and that thread's pointer. Anything else (raw clone) is left unknown. */
void stackrange_init(struct stackrange *r, bool is_main)
{
	static uint64_t main_pointer; /* set once, by the main thread, before there are others */
	uint64_t pointer = arch_thread_pointer();
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(7);

	*r = (struct stackrange){0};
	if (is_main && !main_pointer)
		main_pointer = pointer;
	uint64_t high = pointer == main_pointer ? (uint64_t)getauxval(AT_EXECFN) : pointer;
	high &= ~UINT64_C(7);
	/* What the kernel or libc laid out as this thread's stack may be trusted. */
	if (high <= here || high - here > FIRST_MOST || !is_readable(here, high, true))
		return;
	r->high = high;
	set_low(r, here);
}

bool stackrange_extend(struct stackrange *r, uint64_t sp)
{
	uint64_t place = sp >> FOREIGN_SHIFT;
	uint64_t *known = &r->foreign[place % STACKRANGE_FOREIGN];

	if (sp >= r->high || r->low - sp > STEP_MOST || *known == place)
		return false;
	if (is_readable(sp, r->low, r->low - sp <= STEP_TRUSTED)) {
		set_low(r, sp);
		return true;
	}
	*known = place;
	return false;
}
