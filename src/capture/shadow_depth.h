/* shadow_depth.h -- the functions that a thread was in when its stack was deepest.
 * Runs: any thread of the target, in the functions that its compiler calls on entry and exit.
 * Called by shadow.c, with the thread's frames taken.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A new depth is noted as it is reached, but the frames are kept only when the first of them is
 * left, and only those that differ from the ones kept before: that costs no more than entering
 * them did. The collector is told when the stack has become deeper by a piece, and at the end. */
#ifndef MIDDEN_CAPTURE_SHADOW_DEPTH_H
#define MIDDEN_CAPTURE_SHADOW_DEPTH_H

#include "capture/shadow.h"

#define SHADOW_DEPTH_LEAST 1024u /* bytes that it must have become deeper by ... */
#define SHADOW_DEPTH_SHARE 64u	 /* ... and this part of the whole depth */

/* Keeps the frames as they are: the deepest so far. */
void shadow_depth_keep(struct shadow *s);

/* Whether what is kept is so much deeper than what the collector knows that it should be told. */
static inline bool shadow_depth_is_due(const struct shadow *s, uint64_t high)
{
	uint64_t told = s->told_sp < high ? s->told_sp : high;

	return unlikely(s->deepest_sp < told) && told - s->deepest_sp >= SHADOW_DEPTH_LEAST &&
	       told - s->deepest_sp >= (high - s->deepest_sp) / SHADOW_DEPTH_SHARE;
}

/* Tells it; later if the thread is busy. */
NOINLINE void shadow_depth_tell(struct thread *t, struct shadow *s);

#endif
