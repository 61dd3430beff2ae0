/* walk.h -- the call stack of the calling thread, from its unwind tables.
 * Runs: any thread of the target, inside malloc. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_H
#define MIDDEN_CAPTURE_WALK_H

#include <stdint.h>

#include "capture/python_quick.h"
#include "capture/thread.h"
#include "capture/walk_quick.h"
#include "capture/walk_start.h"

/* The node of the stack that starts at a hook's caller. Counts what it could not do. */
uint32_t walk_node(struct thread *t, const struct walk_start *start);

/* The same if nothing need be walked; 0 otherwise. */
static WALK_QUICK uint32_t walk_try(const struct thread *t, const struct walk_start *start)
{
#ifdef MIDDEN_CHECK_WALKS
	(void)t; /* walk_node takes it too, and compares */
	(void)start;
	return 0;
#else
	return start->missed ? 0 : walk_quick_try(t, start);
#endif
}

/* The same with the tags that the thread is in as the outermost frames. */
static WALK_QUICK uint32_t walk_tagged(struct thread *t, const struct walk_start *start)
{
	uint32_t node = walk_try(t, start);

	if (unlikely(!node)) {
		const struct walk_start copy = *start; /* so that `start` can be in registers */

		node = walk_node(t, &copy);
	}
	return likely(t->tags.at == t->tags.root) ? node : tags_add_frames(t, node);
}

/* The same, for who has tried something else first. */
NOINLINE uint32_t walk_tagged_slowly(struct thread *t, const struct walk_start *start);

/* The same for who is called by Python's own allocator: mostly the short way. */
static PYTHON_QUICK uint32_t walk_tagged_python(struct thread *t, const struct walk_start *start)
{
#ifdef MIDDEN_CHECK_WALKS
	return walk_tagged(t, start); /* which takes it too */
#else
	uint32_t node = python_quick_try_here(t, start);

	if (unlikely(!node || t->tags.at != t->tags.root)) {
		const struct walk_start copy = *start; /* so that `start` can be in registers */

		return walk_tagged_slowly(t, &copy);
	}
	return node;
#endif
}

#endif
