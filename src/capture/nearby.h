/* nearby.h -- hooks of Python's allocator, copied to where the interpreter is.
 * Runs: nearby_place in whatever thread first meets the interpreter; the copies inside its
 * allocator; the rest anywhere. Called by pymalloc.c and walk_step.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Processors predict jumps badly whose goal is gigabytes away, and a hook is two of them: from the
 * interpreter to this library and back. Where an interpreter is a program of its own, far from all
 * libraries, that is most of what a hook costs (docs/hotpath.md). So the part of it that nearly all
 * calls need is copied to a page beside the interpreter; it jumps to the hook itself for the rest.
 *
 * What is copied must not refer to anything of this library's: all that it needs is in words that
 * are copied along. tests/rules looks at the built code. */
#ifndef MIDDEN_CAPTURE_NEARBY_H
#define MIDDEN_CAPTURE_NEARBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in Python's headers: PyMemAllocatorEx. */
struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t bytes);
	void *(*calloc)(void *context, size_t count, size_t bytes);
	void *(*realloc)(void *context, void *block, size_t bytes);
	void (*free)(void *context, void *block);
};

/* What does the work, and what takes its place. */
struct nearby_domain {
	struct allocator inner;
	struct allocator hooks;
};

enum nearby_kind {
	NEARBY_SAMPLED, /* small objects are sampled, all else is recorded */
	NEARBY_COUNTED, /* all is sampled */
	NEARBY_EXACT,	/* all is recorded; blocks that come by the hook itself */
};

struct nearby_plan {
	struct nearby_domain mem, obj;
	size_t sure_bytes; /* of NEARBY_COUNTED: up to here a request is surely a small object's */
};

/* Puts copies beside `goal`, some function of the interpreter's, and in the place of hooks of the
 * plan. Leaves them as they are if they are close to it, or if there is no place. */
void nearby_place(struct nearby_plan *plan, enum nearby_kind kind, uint64_t goal);

/* Whether a function is one of the copies. */
bool nearby_holds(uint64_t function);

/* Where an address in a copy was copied from, which has unwind tables; any other one as it is. */
uint64_t nearby_get_origin(uint64_t pc);

#endif
