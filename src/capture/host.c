/* host.c -- memory for the capture room, straight from the kernel.
 * Runs: anywhere in the target; called at start-up and when threads come.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/host.h"

#include <sys/mman.h>

void *host_map(size_t bytes)
{
	long at = HOST_CALL6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at; /* NOLINT: the kernel's answer */
}
