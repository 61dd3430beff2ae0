/* walk.h -- the call stack of the calling thread, from its unwind tables.
 * Runs: any thread of the target, inside malloc. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_H
#define MIDDEN_CAPTURE_WALK_H

#include <stdint.h>

#include "capture/thread.h"

/* The frame that called a hook. */
struct walk_start {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
};

/* In the body of an exported hook: its caller's frame. The frame address is the hook's own frame
 * record, whose first word is the caller's frame pointer on both architectures. */
#define WALK_START()                                                                \
	((struct walk_start){                                                       \
		.pc = arch_strip((uint64_t)(uintptr_t)__builtin_return_address(0)), \
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),                   \
		.fp = *(const uint64_t *)__builtin_frame_address(0),                \
	})

/* The node of the stack that starts at a hook's caller. Counts what it could not do. */
uint32_t walk_node(struct thread *t, const struct walk_start *start);

#endif
