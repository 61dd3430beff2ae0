/* python.h -- stacks of Python programs: its functions and lines, and the native code below them.
 * Runs: any thread of the target, inside malloc. Called by walk.c, and by modules.c when an object
 * is first seen.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An interpreter is found when its code is first seen on a stack, by the symbols that it exports:
 * a static python3, libpython, or a program that has either in it. From then on each walk asks it
 * for the calling thread's state, and reads the frames there (python_frames.h). The first ones are
 * a test; where it fails, stacks are native ones and a line on stderr says so. */
#ifndef MIDDEN_CAPTURE_PYTHON_H
#define MIDDEN_CAPTURE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/image.h"
#include "capture/thread.h"
#include "capture/walk_start.h"

enum python_state {
	PYTHON_NONE = 0, /* no interpreter has been seen */
	PYTHON_FINDING,	 /* one is being looked at */
	PYTHON_FOUND,	 /* its frames have not been seen yet */
	PYTHON_ON,
	PYTHON_OFF, /* it is not known, or is not what it seems to be */
};

static inline bool python_is_here(void)
{
	/* Pairs with the release in python_look_at: what is known of it is there. */
	uint32_t state = atomic_load_explicit(&process->python, memory_order_acquire);

	return state == PYTHON_FOUND || state == PYTHON_ON;
}

/* Looks whether an object that is new, and has this number, has an interpreter in it. */
void python_look_at(uint32_t module, const struct image *image,
		    const struct image_headers *headers);

/* Looks whether the program has an interpreter, before anything is recorded. Where each call is,
 * the first one that it makes shows it; where samples are, it would have made objects before the
 * first. */
void python_seek(void);

/* The node of the calling thread's stack. False: it runs no Python. */
bool python_walk(struct thread *t, const struct walk_start *start, uint32_t *node);

#ifdef MIDDEN_CHECK_WALKS
/* The frames of the stack that python_walk has just found, without what is remembered of earlier
 * ones, in t->frames, leaf first; their number. False: there is none to compare. */
bool python_walk_again(struct thread *t, const struct walk_start *start, uint32_t *count);
#endif

/* Bytes that a thread needs for stacks of so many frames, at t->python. */
size_t python_bytes(uint32_t depth);

#endif
