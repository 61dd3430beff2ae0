/* hot.h -- what every allocation pays.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Assumes: nothing; an all-zero thread is valid. Leaves when: pos >= limit, which covers a new
 * thread, a full chunk, a hook interrupted by a signal handler that allocates, and a recording that
 * has ended. Leaves how: one call into cold.c. While an event is being made, limit is less than any
 * pos, and says where the hook's frame is; the stores to it are ordered against signal handlers,
 * not threads. */
#ifndef MIDDEN_CAPTURE_HOT_H
#define MIDDEN_CAPTURE_HOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/cold.h"
#include "capture/host.h"
#include "capture/stamp.h"
#include "capture/thread.h"
#include "capture/walk.h"
#include "format/segment.h"

/* The compiler, which sees many callers, would share one copy among them; the hook that matters
 * would pay for the call. */
#define HOT inline __attribute__((always_inline))

static inline uint64_t hot_word(struct thread *t, uint32_t kind, uint32_t api)
{
	return (stamp_take(t) - t->clock_base) << 8 | api << 4 | kind;
}

/* Makes the event visible. Pairs with the collector's acquire of head. */
static inline void hot_publish(struct thread *t, uint64_t *end)
{
	t->pos = end;
	atomic_store_explicit(&t->slot->head, (uint64_t)(uintptr_t)end + t->position_bias,
			      memory_order_release);
}

/* Takes the right to write an event; NULL: there is none to write. A signal handler may run
 * between the first look and the store that keeps others out, and use up the chunk: hence the
 * second look. */
static HOT struct thread *hot_enter(void)
{
	struct thread *t = thread_self;
	const uint64_t frame = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();

	if (unlikely(t->pos >= t->limit)) {
		if (!cold_enter(frame))
			return NULL;
		t = thread_self;
	}
	t->limit = thread_busy(frame);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(t->pos >= t->chunk_limit) && !cold_refill(t))
		return NULL;
	return t;
}

static inline void hot_leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->limit = t->chunk_limit;
}

/* A block that a call has returned, or (kind RESIZED) that a realloc has moved to. False: not
 * recorded. */
static HOT bool hot_block(void *block, size_t bytes, uint32_t kind, uint32_t api,
			  const struct walk_start *start)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return false;
	uint64_t node = walk_node(t, start);
	if (unlikely(t->tags.at != t->tags.root))
		node = tags_add_frames(t, (uint32_t)node);
	uint64_t *at = t->pos;

	t->last = block;
	at[1] = (uint64_t)(uintptr_t)block;
	if (likely(bytes <= UINT32_MAX)) {
		at[0] = hot_word(t, kind, api);
		at[2] = (uint64_t)bytes << 32 | node;
		hot_publish(t, at + 3);
	} else {
		at[0] = hot_word(t, kind + 1, api); /* ALLOC_BIG, RESIZED_BIG */
		at[2] = node;
		at[3] = bytes;
		hot_publish(t, at + 4);
	}
	hot_leave(t);
	return true;
}

static HOT void hot_alloc(void *block, size_t bytes, uint32_t api, const struct walk_start *start)
{
	if (unlikely(!block))
		cold_failed();
	else
		(void)hot_block(block, bytes, SEGMENT_EVENT_ALLOC, api, start);
}

/* A block that is about to be given back (FREE) or resized (RESIZE). False: not recorded. */
static HOT bool hot_release_as(void *block, uint32_t kind, uint32_t api)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return false;
	uint64_t *at = t->pos;
	t->last = NULL; /* a handler's block may be the next one that a wrapped call returns */
	at[0] = hot_word(t, kind, api);
	at[1] = (uint64_t)(uintptr_t)block;
	hot_publish(t, at + 2);
	hot_leave(t);
	return true;
}

static inline bool hot_release(void *block, uint32_t kind)
{
	return hot_release_as(block, kind, 0);
}

/* How a realloc ended that left no new block: RESIZE_FAILED or RESIZE_FREED. */
static inline void hot_resize_end(uint32_t kind)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return;
	t->pos[0] = hot_word(t, kind, 0);
	hot_publish(t, t->pos + 1);
	hot_leave(t);
}

#endif
