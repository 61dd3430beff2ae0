/* shadow.h -- which functions a thread is in, as they say themselves (-finstrument-functions).
 * Runs: any thread of the target, in what its compiler calls on entry and exit of a function,
 * inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each thread has a stack of frames beside its own. What is further in than a frame that is entered
 * now, or than the caller of malloc, is gone, whether it said so or not: so jumps and exceptions
 * leave nothing behind. Functions on other stacks than the thread's own (coroutines, signal stacks)
 * are not kept. */
#ifndef MIDDEN_CAPTURE_SHADOW_H
#define MIDDEN_CAPTURE_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/rules.h"
#include "capture/thread.h"
#include "capture/walk_start.h"

/* A function that was entered. One that was inlined shares the frame of the one around it. */
struct shadow_frame {
	uint64_t cfa; /* where its frame begins */
	uint64_t sp;  /* where it ended on entry */
	uint64_t function;
	uint64_t pc;	     /* in it, behind the call that told us */
	uint64_t caller_pc;  /* where it returns to */
	uint64_t caller_cfa; /* of the frame that called it, instrumented or not; 0: not known */
	/* The stack of all that is around it, up to the place that called it: for the first `known`
	 * frames. */
	uint32_t node;
	uint32_t hash;
	uint32_t depth;
	uint32_t reserved;
};

/* Private memory of the thread, which a fork child keeps: it is in the same functions. */
struct shadow {
	uint64_t busy; /* the stack pointer of who is at work on this; 0: nobody is */
	struct shadow_frame *frames;
	struct shadow_frame *deepest; /* as they were when the stack was deepest */
	uint32_t count;
	uint32_t room; /* of both */
	uint32_t known;
	uint32_t deepest_count;
	uint32_t same;	 /* the first so many of both are equal */
	int pid;	 /* that `known` and `told` hold for */
	bool is_new;	 /* it has never been as deep as now, and `deepest` does not say so yet */
	uint64_t lowest; /* stack pointer seen */
	uint64_t deepest_sp; /* that `deepest` goes down to */
	uint64_t told_sp;    /* that the collector knows of */
};

/* That of the calling thread; NULL: none yet. */
extern _Thread_local struct shadow *shadow_self __attribute__((tls_model("initial-exec"))) HIDDEN;

/* Whether functions are to say that they are entered. */
extern bool shadow_is_on HIDDEN;

/* Has them do so, in all objects that are loaded or will be. Once per program, at start-up. */
void shadow_patch(void);

/* Tells the collector how deep the stack of the calling thread, whose state is `t`, has been; with
 * `end`, for the last time. */
void shadow_tell_last(struct thread *t);
void shadow_end(struct thread *t);

/* Leaves the innermost frame. */
void shadow_pop(struct shadow *s);

/* Where a step outwards has come to. */
struct shadow_step {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
};

/* Leaves a frame by the rule of its pc, to the caller's. Reads below `high` only, on a stack that
 * is mapped from at->sp on. False: the rule needs more than that. */
bool shadow_step_out(struct shadow_step *at, const struct rule *r, uint64_t high);

#endif
