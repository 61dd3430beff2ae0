/* target_read.h -- pieces of another process's memory.
 * Runs: in the collector process, on any of its threads. SPDX-License-Identifier: Apache-2.0
 *
 * Who includes it has _GNU_SOURCE. */
#ifndef MIDDEN_COLLECT_TARGET_READ_H
#define MIDDEN_COLLECT_TARGET_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* One piece, all of it or none. */
static inline bool target_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, /* NOLINT */
			       .iov_len = bytes};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* What became of it. */
struct target_tally {
	uint64_t read_bytes;
	uint64_t unread_bytes; /* that the kernel would not give */
	bool is_denied;	       /* it gives us nothing of this process */
};

#define TARGET_PIECES_MOST 512u /* at once; the kernel takes 1,024 */

/* Reads pieces, one behind the other in `to`; what cannot be had is 0 there. The list is used
 * up. */
void target_read_pieces(pid_t pid, struct iovec *pieces, size_t count, void *to,
			struct target_tally *tally);

#endif
