/* peek.c -- reads memory that may be gone.
 * Runs: any thread of the target, inside malloc. Called for objects that another thread may unload.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/peek.h"

#include <errno.h>
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

bool peek_strictly(uint64_t address, void *to, size_t bytes)
{
	return ask(address, to, bytes) == (long)bytes;
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
