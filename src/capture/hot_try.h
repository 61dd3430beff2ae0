/* hot_try.h -- the everyday malloc and free: hot.h without a single call.
 * Runs: any thread of the target, inside malloc; inlined into the two hooks that matter most.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A function that calls another keeps what it needs afterwards in registers that it must save
 * first, whether it comes to the call or not. So whatever takes one here lets go and says so; the
 * hook then jumps to a function that does it by hot.h. */
#ifndef MIDDEN_CAPTURE_HOT_TRY_H
#define MIDDEN_CAPTURE_HOT_TRY_H

#include "capture/hot.h"

enum hot_try {
	HOT_TRY_DONE,
	HOT_TRY_MISSED, /* the stack must be walked */
	HOT_TRY_FAILED,
};

/* hot_enter, and the stamp of the event; NULL: that has to see to it. */
static HOT struct thread *hot_try_enter(uint64_t *stamp)
{
	const uint64_t frame = HOT_FRAME();
	struct thread *t = thread_self;

	if (!HOT_IS_READY())
		return NULL;
	t->limit = thread_busy(frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* In this order: a handler may have forked before the thread was busy, and its child has
	 * neither room nor a clock. */
	if (likely(t->pos < t->chunk_limit) && likely(stamp_peek(t, stamp)))
		return t;
	hot_leave(t);
	return NULL;
}

static HOT void hot_try_stamp(struct thread *t, uint64_t stamp, uint32_t what)
{
	t->stamp = stamp;
	t->pos[0] = (stamp_to_ticks(t, stamp) - t->clock_base) << 8 | what;
}

/* hot_block of a malloc. */
static HOT enum hot_try hot_try_alloc(void *block, size_t bytes, const struct walk_start *start)
{
	uint64_t stamp;

	if (unlikely(!block || bytes > UINT32_MAX))
		return HOT_TRY_FAILED;
	struct thread *t = hot_try_enter(&stamp);
	if (unlikely(!t))
		return HOT_TRY_FAILED;
	uint32_t node = walk_try(t, start);
	if (unlikely(!node || t->tags.at != t->tags.root)) {
		hot_leave(t);
		return node ? HOT_TRY_FAILED : HOT_TRY_MISSED;
	}
	uint64_t *at = t->pos;
	hot_try_stamp(t, stamp, SEGMENT_API_MALLOC << 4 | SEGMENT_EVENT_ALLOC);
	at[1] = (uint64_t)(uintptr_t)block;
	at[2] = (uint64_t)bytes << 32 | node;
	t->last = block;
	hot_publish(t, at + 3);
	hot_leave(t);
	return HOT_TRY_DONE;
}

/* hot_release_as of a free. */
static HOT enum hot_try hot_try_free_as(void *block, uint32_t api)
{
	uint64_t stamp;
	struct thread *t = hot_try_enter(&stamp);

	if (unlikely(!t))
		return HOT_TRY_FAILED;
	uint64_t *at = t->pos;
	hot_try_stamp(t, stamp, api << 4 | SEGMENT_EVENT_FREE);
	at[1] = (uint64_t)(uintptr_t)block;
	t->last = NULL; /* see hot_release_as */
	hot_publish(t, at + 2);
	hot_leave(t);
	return HOT_TRY_DONE;
}

static HOT enum hot_try hot_try_free(void *block)
{
	return hot_try_free_as(block, 0);
}

#endif
