/* walk_goal.h -- a walk that ends, or is interrupted, before the outermost frame.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_GOAL_H
#define MIDDEN_CAPTURE_WALK_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/walk_sink.h"
#include "capture/walk_start.h"
#include "capture/walk_step.h"

/* The frame that holds an address of the stack, or, where that is 0, one whose code is in a range.
 */
struct walk_goal {
	uint64_t address;
	uint64_t code_start;
	uint64_t code_bytes;
	/* Called at such a frame, which is not kept itself; may set the next goal. False, or NULL:
	 * the walk ends there. */
	bool (*arrive)(struct walk_goal *goal, struct walk_sink *sink);
	bool reached;
	/* Where there is room for them, frames[0..count) become those on the way, with the goal's
	 * own as the last. */
	struct memo_frame *frames;
	uint32_t room;
	uint32_t count;
	uint32_t generation; /* of the modules that they were found with */
	bool is_odd;	     /* they are not all, or memory was read that is not the stack's */
};

/* Whether a frame from `sp` to `cfa` that runs the code at `pc` is it. */
static inline bool walk_goal_is(const struct walk_goal *g, uint64_t pc, uint64_t sp, uint64_t cfa)
{
	return g->address ? g->address - sp < cfa - sp : pc - g->code_start < g->code_bytes;
}

/* Notes that the walk is there. True: it goes on. */
static inline bool walk_goal_pass(struct walk_goal *g, struct walk_sink *sink)
{
	g->reached = true;
	return g->arrive && g->arrive(g, sink);
}

/* Keeps the frames from the hook's caller to the goal, by the cached rules. False: it needs all
 * registers, or could not go on; the sink and the goal are of no use then. */
bool walk_to_goal(struct thread *t, const struct walk_start *start, struct walk_goal *goal,
		  struct walk_sink *sink);

/* The same with all registers. Counts what it could not do. `goal` may be NULL. */
NOINLINE void walk_full_to_goal(struct thread *t, const struct walk_start *start,
				struct walk_goal *goal, struct walk_sink *sink);

#endif
