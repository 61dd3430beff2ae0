/* target_read.h -- a piece of another process's memory, all of it or none.
 * Runs: in the collector process. SPDX-License-Identifier: Apache-2.0
 *
 * Who includes it has _GNU_SOURCE. */
#ifndef MIDDEN_COLLECT_TARGET_READ_H
#define MIDDEN_COLLECT_TARGET_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

static inline bool target_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, /* NOLINT */
			       .iov_len = bytes};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

#endif
