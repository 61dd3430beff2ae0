/* shadow_walk.h -- the call stack of a thread whose functions say that they are entered.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_SHADOW_WALK_H
#define MIDDEN_CAPTURE_SHADOW_WALK_H

#include "capture/shadow.h"

/* The node of the stack that starts at a hook's caller: its frames up to the first function that
 * has said that it was entered, and those. False: there is none, or the stack is not the thread's
 * own, or deeper than is kept. */
NOINLINE bool shadow_walk(struct thread *t, const struct walk_start *start, uint32_t generation,
			  uint32_t *node);

#endif
