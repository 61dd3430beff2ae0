/* walk_full.h -- a whole walk with all registers and without the memo, for the stacks that need it.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_FULL_H
#define MIDDEN_CAPTURE_WALK_FULL_H

#include <stdint.h>

#include "capture/thread.h"
#include "capture/walk.h"

/* Puts the stack from the hook's caller on into t->frames, leaf first, and returns the number of
 * frames (at most t->max_depth). A stack that is deeper keeps its leaf and root ends around one
 * SEGMENT_NODE_CUT frame. Counts what it could not do. */
NOINLINE uint32_t walk_full(struct thread *t, const struct walk_start *start);

#endif
