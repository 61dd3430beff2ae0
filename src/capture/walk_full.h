/* walk_full.h -- a whole walk with all registers and without the memo, for the stacks that need it.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_FULL_H
#define MIDDEN_CAPTURE_WALK_FULL_H

#include <stdint.h>

#include "capture/modules.h"
#include "capture/thread.h"
#include "capture/walk.h"

/* Puts the stack from the hook's caller on into t->frames, leaf first, and returns the number of
 * frames (at most t->max_depth). A stack that is deeper keeps its leaf and root ends around one
 * SEGMENT_NODE_CUT frame. Counts what it could not do. */
NOINLINE uint32_t walk_full(struct thread *t, const struct walk_start *start);

/* From here out through the code of an object, to who called into it: returns where its frame
 * begins on the stack, with the registers that it has there. 0: nobody, as far as can be seen. */
NOINLINE uint64_t walk_full_leave(struct thread *t, const struct modules_area *object,
				  uint64_t regs[ARCH_REGS]);

#endif
