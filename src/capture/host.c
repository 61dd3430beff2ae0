/* host.c -- memory and quiet for the capture room, straight from the kernel.
 * Runs: anywhere in the target; called at start-up and when threads come.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/host.h"

#include <signal.h>
#include <sys/mman.h>

uint64_t host_block_signals(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before = 0;

	(void)HOST_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(before));
	return before;
}

void host_set_signals(uint64_t blocked)
{
	(void)HOST_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, sizeof(blocked));
}

void *host_map(size_t bytes)
{
	long at = HOST_CALL6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at; /* NOLINT: the kernel's answer */
}
