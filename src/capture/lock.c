/* lock.c -- a program that locks its memory does not lock ours.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The segment is hundreds of megabytes of address space, of which little is ever touched.
 * mlockall(MCL_CURRENT) would bring all of it into memory, or fail for it. So the program's own
 * mappings are locked one by one instead; what is to come is locked as the program wishes, but for
 * states of threads (thread.c). */
#include <errno.h>
#include <sys/mman.h>

#include "capture/boot.h"
#include "capture/host.h"
#include "capture/maps.h"
#include "capture/thread.h"

#define EXPORT __attribute__((visibility("default")))

static bool holds(const void *start, uint64_t bytes, uint64_t address)
{
	return start && address - (uint64_t)(uintptr_t)start < bytes;
}

static bool is_ours(uint64_t address)
{
	uint64_t block_bytes = process->thread_bytes * PROCESS_THREADS_PER_BLOCK;

	if (holds(process->header, process->layout.total_bytes, address) ||
	    holds(process, sizeof(*process), address))
		return true;
	for (uint32_t i = 0; i < PROCESS_BLOCKS; i++)
		if (holds(atomic_load(&process->blocks[i]), block_bytes, address))
			return true;
	return false;
}

/* As the kernel does it for mlockall, without regard to ranges that cannot be locked (no access, a
 * device); but not beyond what the process may lock. */
static bool lock_range(void *context, const struct maps_range *range)
{
	long *result = context;

	if (is_ours(range->start))
		return true;
	long got = HOST_CALL2(SYS_mlock, range->start, range->end - range->start);
	if (got == -EPERM || got == -EAGAIN)
		*result = got;
	return *result == 0;
}

static bool is_recording(void)
{
	return process && atomic_load(&process->state) == PROCESS_RECORDING;
}

/* MCL_ONFAULT locks what is touched and no more: nothing of ours is brought in by it. */
EXPORT int mlockall(int flags)
{
	long result = 0;

	(void)boot_resolve();
	if ((flags & MCL_FUTURE) && is_recording())
		atomic_store(&process->locks_future, true);
	if (!(flags & MCL_CURRENT) || (flags & MCL_ONFAULT) || !is_recording() ||
	    !maps_read(lock_range, &result))
		return real.mlockall(flags);
	if (result != 0) {
		errno = (int)-result;
		return -1;
	}
	return flags & MCL_FUTURE ? real.mlockall(flags & ~MCL_CURRENT) : 0;
}
