/* peek.c -- reads memory that may be gone.
 * Runs: any thread of the target, inside malloc. Called for objects that another thread may unload.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/peek.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "capture/thread.h"

#define TEXT_STEP 64 /* read at once: no multiple of it crosses into another page by surprise */

static long ask(uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address,
			       .iov_len = bytes}; /* NOLINT */

	return HOST_CALL6(SYS_process_vm_readv, thread_tid(), &local, 1, &remote, 1, 0);
}

/* ---- what is there, without a copy ----------------------------------------------------------- */

#define NO_SUCH_WAY  (-1) /* of changing the signal mask: nothing is changed */
#define SIGSET_BYTES 8	  /* the kernel's own */

/* Whether the kernel can read there: it reads the mask before it looks at what to do with it. */
static bool seems_readable(uint64_t address)
{
	return HOST_CALL4(SYS_rt_sigprocmask, NO_SUCH_WAY, address & ~UINT64_C(7), 0,
			  SIGSET_BYTES) == -EINVAL;
}

/* Emulators may look at the two in another order: then nothing can be said. */
static bool can_tell(void)
{
	enum { UNKNOWN, NO, YES };
	static _Atomic int known; /* pairs with nothing: every thread finds the same */
	int told = atomic_load_explicit(&known, memory_order_relaxed);

	if (told == UNKNOWN) {
		told = seems_readable(8) ? NO : YES;
		atomic_store_explicit(&known, told, memory_order_relaxed);
	}
	return told == YES;
}

bool peek_is_readable(uint64_t address)
{
	return can_tell() && seems_readable(address);
}

static bool are_readable(uint64_t address, size_t bytes)
{
	uint64_t last = address + bytes - 1;

	if (last < address)
		return false;
	for (uint64_t at = address; at <= last; at = (at | (PEEK_PAGE - 1)) + 1)
		if (!peek_is_readable(at))
			return false;
	return true;
}

static bool copy_if_readable(uint64_t address, void *to, size_t bytes)
{
	if (!are_readable(address, bytes))
		return false;
	memcpy(to, (const void *)(uintptr_t)address, bytes); /* NOLINT */
	return true;
}

bool peek_strictly(uint64_t address, void *to, size_t bytes)
{
	long got = ask(address, to, bytes);

	if (got == -EPERM || got == -ENOSYS)
		return copy_if_readable(address, to, bytes);
	return got == (long)bytes;
}

bool peek_copy(uint64_t address, void *to, size_t bytes)
{
	long got = ask(address, to, bytes);

	if (got == -EPERM || got == -ENOSYS) {
		memcpy(to, (const void *)(uintptr_t)address, bytes); /* NOLINT */
		return true;
	}
	return got == (long)bytes;
}

bool peek_text(uint64_t address, char *to, size_t room)
{
	for (size_t done = 0; done < room;) {
		size_t part = TEXT_STEP - (address + done) % TEXT_STEP;

		if (part > room - done)
			part = room - done;
		if (!peek_copy(address + done, to + done, part))
			return false;
		for (size_t end = done + part; done < end; done++)
			if (to[done] == 0)
				return true;
	}
	return false;
}
