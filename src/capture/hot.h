/* hot.h -- what every allocation pays.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Assumes: nothing; an all-zero thread is valid. Leaves when: pos >= limit, which covers a new
 * thread, a full chunk, a hook interrupted by a signal handler that allocates, a recording that has
 * ended, and one that is switched off or leaves stacks out. Leaves how: one call into cold.c or
 * gate.c. While an event is being made, limit is less than any
 * pos, and says where the hook's frame is; the stores to it are ordered against signal handlers,
 * not threads. */
#ifndef MIDDEN_CAPTURE_HOT_H
#define MIDDEN_CAPTURE_HOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/cold.h"
#include "capture/gate.h"
#include "capture/host.h"
#include "capture/stamp.h"
#include "capture/thread.h"
#include "capture/walk.h"
#include "format/segment.h"

/* The compiler, which sees many callers, would share one copy among them; the hook that matters
 * would pay for the call. */
#define HOT		inline __attribute__((always_inline))

#define HOT_AHEAD_BYTES 256

static inline uint64_t hot_word(struct thread *t, uint32_t kind, uint32_t api)
{
	return (stamp_take(t) - t->clock_base) << 8 | api << 4 | kind;
}

/* Makes the event visible. Pairs with the collector's acquire of head. */
static inline UNWATCHED void hot_publish(struct thread *t, uint64_t *end)
{
	t->pos = end;
	/* Some events ahead: the collector, on another core, has read what was there before. */
	arch_prefetch_to_write((const char *)end + HOT_AHEAD_BYTES);
	atomic_store_explicit(&t->slot->head, (uint64_t)(uintptr_t)end + t->position_bias,
			      memory_order_release);
}

/* Keeps others out while an event is made; NULL: there is no room. A signal handler may run between
 * the caller's look and the store here, and use up the chunk: hence the second look. */
static HOT struct thread *hot_hold(uint64_t frame)
{
	struct thread *t = thread_self;

	t->limit = thread_busy(frame);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(t->pos >= t->chunk_limit) && !cold_refill(t))
		return NULL;
	return t;
}

#define HOT_IS_READY() likely(thread_self->pos < thread_self->limit)
#define HOT_FRAME()    ARCH_CFA()

/* Takes the right to write an event; NULL: there is none to write. */
static HOT struct thread *hot_enter(void)
{
	const uint64_t frame = HOT_FRAME();

	if (!HOT_IS_READY() && !cold_enter(frame, 0))
		return NULL;
	return hot_hold(frame);
}

static inline UNWATCHED void hot_leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->limit = t->chunk_limit;
}

/* Writes the event of a block (`what`: api << 4 | kind) and lets go. */
static HOT void hot_put_block(struct thread *t, void *block, size_t bytes, uint32_t what,
			      uint64_t node)
{
	uint64_t *at = t->pos;

	t->last = block;
	if (unlikely(bytes > UINT32_MAX)) {
		cold_put_big(t, block, bytes, what, node);
	} else {
		at[0] = hot_word(t, what & 15u, what >> 4);
		at[1] = (uint64_t)(uintptr_t)block;
		at[2] = (uint64_t)bytes << 32 | node;
		hot_publish(t, at + 3);
	}
	hot_leave(t);
}

/* A block that a call has returned, or (kind RESIZED) that a realloc has moved to. False: not
 * recorded. */
static HOT bool hot_block(void *block, size_t bytes, uint32_t kind, uint32_t api,
			  const struct walk_start *start)
{
	const uint64_t frame = HOT_FRAME();
	const uint32_t what = api << 4 | kind;

	if (!HOT_IS_READY()) {
		const struct walk_start copy = *start; /* so that `start` can be in registers */
		enum gate_answer answer = gate_admit_block(&copy, block, bytes, what);

		if (answer != GATE_OPEN)
			return answer == GATE_DONE;
	}
	struct thread *t = hot_hold(frame);
	if (likely(t))
		hot_put_block(t, block, bytes, what, walk_tagged(t, start));
	return t != NULL;
}

static HOT void hot_alloc(void *block, size_t bytes, uint32_t api, const struct walk_start *start)
{
	if (likely(block))
		(void)hot_block(block, bytes, SEGMENT_EVENT_ALLOC, api, start);
	else
		cold_failed();
}

/* A block that is about to be given back (FREE) or resized (RESIZE). False: not recorded. */
static HOT bool hot_release_as(void *block, uint32_t kind, uint32_t api)
{
	const uint64_t frame = HOT_FRAME();

	if (!HOT_IS_READY() && !gate_admit_release(frame, WALK_CALLER()))
		return false;
	struct thread *t = hot_hold(frame);
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

static HOT bool hot_release(void *block, uint32_t kind)
{
	return hot_release_as(block, kind, 0);
}

#endif
