/* usable.h -- how much room an allocator gives for a size that is asked for. Runs: in a copy of the
 * collector; pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_USABLE_H
#define MIDDEN_COLLECT_USABLE_H

#include <stdint.h>

enum usable_allocator {
	USABLE_UNKNOWN, /* its sizes are not known here */
	USABLE_GLIBC,
	USABLE_JEMALLOC,
};

/* By a file that the process has mapped; UNKNOWN for all but known allocators that are none of the
 * above, -1 if it says nothing. */
int usable_recognise(const char *path);

/* What malloc_usable_size would say of the block. */
uint64_t usable_get(enum usable_allocator allocator, uint64_t ptr, uint64_t size);

#endif
