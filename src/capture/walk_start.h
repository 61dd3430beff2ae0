/* walk_start.h -- where a walk starts: the frame that called a hook.
 * Runs: in the hooks, inlined.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_START_H
#define MIDDEN_CAPTURE_WALK_START_H

#include <stdint.h>

#include "capture/host.h"

/* The frame that called a hook. */
struct walk_start {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t missed; /* 1: walk_quick.h has been asked, in vain. A word: copies are words */
};

/* In the body of an exported hook: its caller's frame. The frame address is the hook's own frame
 * record, whose first word is the caller's frame pointer on both architectures. */
#define WALK_START()                                                 \
	((struct walk_start){                                        \
		.pc = WALK_CALLER(),                                 \
		.sp = ARCH_CFA(),                                    \
		.fp = *(const uint64_t *)__builtin_frame_address(0), \
	})

/* So too: where it will return to. */
#define WALK_CALLER() arch_strip((uint64_t)(uintptr_t)__builtin_return_address(0))

#endif
