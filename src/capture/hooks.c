/* hooks.c -- the allocation functions that the program calls instead of the real ones.
 * Runs: any thread of the target. Each does what the real function does, and records it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order matters: an allocation is stamped after the real call returned it, a release before the
 * real call gives the block back, so that no other thread can be seen to get an address before it
 * was free. */
#include "capture/hooks.h"

#include <errno.h>
#include <string.h>

#include "capture/boot.h"
#include "capture/counting.h"
#include "capture/hot.h"
#include "capture/hot_try.h"
#include "capture/light.h"
#include "capture/modules.h"

#define EXPORT __attribute__((visibility("default")))

/* Some allocators build one entry point on another, through the very names we stand in for. Then
 * the inner call has recorded the block already, and left its address in `last`, or has counted the
 * failure. What has been recorded before the real call is made (a resize, a free) is masked
 * instead, and so is everything where not every call is recorded. */
static inline bool expect_inner(void)
{
	thread_self->last = NULL;
	return light_is_on() && real.may_nest && light_mask(LIGHT_FRAME());
}

static inline bool was_recorded(const void *block)
{
	return thread_self->last == (block ? block : THREAD_FAILED);
}

/* These are part of each hook's own frame: hot_enter tells by it whether a hook is still there. */
static HOT void add(void *block, size_t bytes, uint32_t api, const struct walk_start *start)
{
	if (light_is_on()) {
		const struct walk_start copy = *start; /* so that `start` can be in registers */

		light_add(block, bytes, api, &copy);
	} else {
		hot_alloc(block, bytes, api, start);
	}
}

/* What `call` returned, recorded unless an inner call has done so. */
#define RECORDED(call, bytes, api)                        \
	({                                                \
		bool masked_ = expect_inner();            \
		void *block_ = (call);                    \
		struct walk_start start_ = WALK_START();  \
		if (masked_)                              \
			light_unmask(masked_);            \
		if (!was_recorded(block_))                \
			add(block_, bytes, api, &start_); \
		block_;                                   \
	})

/* Each hook hands the call on at once if nothing is to be recorded. The rest is a function of its
 * own, which the hook jumps to: it has the hook's caller for its own, and saves registers only when
 * they are needed. */

/* Part of the hook's frame like add. */
static HOT void *record_block(void *block, size_t bytes, bool missed)
{
	struct walk_start start = WALK_START();

	start.missed = missed;
	add(block, bytes, SEGMENT_API_MALLOC, &start);
	return block;
}

/* What a malloc has returned, where that takes more than record_malloc can do. */
static NOINLINE void *record_unasked(void *block, size_t bytes)
{
	return record_block(block, bytes, false);
}

static NOINLINE void *record_missed(void *block, size_t bytes)
{
	return record_block(block, bytes, true);
}

/* A malloc whose stack will have to be walked. */
static NOINLINE void *walk_malloc(size_t bytes)
{
	return record_block(real.malloc(bytes), bytes, true);
}

static NOINLINE void *record_malloc(size_t bytes)
{
	void *block = real.malloc(bytes);
	struct walk_start start = WALK_START();

	if (unlikely(atomic_load_explicit(&light_mode, memory_order_relaxed)))
		return record_unasked(block, bytes);
	enum hot_try tried = hot_try_alloc(block, bytes, &start);
	if (likely(tried == HOT_TRY_DONE))
		return block;
	return tried == HOT_TRY_MISSED ? record_missed(block, bytes) : record_unasked(block, bytes);
}

/* In tag mode. What is known before the call is counted before it, and the size is left on the
 * stack for the case that it fails: the fewer registers are kept across it, the better. */
static NOINLINE void *count_malloc(size_t bytes, struct segment_tag_counts *counts)
{
	volatile size_t expected_bytes = bytes;

	counting_expect(counts, bytes, SEGMENT_API_MALLOC);
	void *block = real.malloc(bytes);

	if (unlikely(!block))
		return counting_fail(counts, expected_bytes, SEGMENT_API_MALLOC);
	return counting_add(counts, block);
}

EXPORT void *malloc(size_t bytes)
{
	if (light_take(bytes, SEGMENT_API_MALLOC))
		return real.malloc(bytes);
	struct thread *t = thread_self;
	if (unlikely(!t->tags.fast))
		return walk_quick_is_worthwhile(t) ? record_malloc(bytes) : walk_malloc(bytes);
	return count_malloc(bytes, t->tags.fast);
}

static HOT void release(void *block)
{
	if (light_is_on())
		light_remove(block, LIGHT_FRAME(), WALK_CALLER());
	else
		(void)hot_release(block, SEGMENT_EVENT_FREE);
}

/* A free that takes more than record_free can do. */
static NOINLINE void record_release(void *block, const void *caller)
{
	if (unlikely(modules_is_loader(caller)))
		modules_note_free(block);
	release(block);
	real.free(block);
}

static NOINLINE void record_free(void *block, const void *caller)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	if (unlikely(modules_is_loader(caller) ||
		     atomic_load_explicit(&light_mode, memory_order_relaxed)) ||
	    unlikely(hot_try_free(block) != HOT_TRY_DONE))
		record_release(block, caller);
	else
		real.free(block);
}

EXPORT void free(void *block)
{
	struct thread *t = thread_self;

	if (t->allowance ? light_release(t, block)
			 : t->tags.fast && block && counting_remove(t->tags.fast, block))
		real.free(block);
	else
		record_free(block, __builtin_return_address(0));
}

static NOINLINE void *record_calloc(size_t count, size_t bytes)
{
	return RECORDED(real.calloc(count, bytes), count * bytes, SEGMENT_API_CALLOC);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t total;

	if (!__builtin_mul_overflow(count, bytes, &total) &&
	    light_take_outer(total, SEGMENT_API_CALLOC))
		return real.calloc(count, bytes);
	return record_calloc(count, bytes);
}

/* A block of the bootstrap arena cannot grow in place. */
static void *move_from_arena(const void *block, size_t bytes)
{
	void *moved = malloc(bytes);
	size_t old = boot_block_bytes(block);

	if (moved)
		memcpy(moved, block, old < bytes ? old : bytes);
	return moved;
}

static HOT void *resize(void *block, size_t bytes, const struct walk_start *start)
{
	bool begun = hot_release(block, SEGMENT_EVENT_RESIZE);
	bool masked = real.may_nest && COLD_MASK(block);
	void *moved = real.realloc(block, bytes);

	cold_unmask(masked);
	if (unlikely(!begun))
		return moved;
	if (likely(moved)) {
		(void)hot_block(moved, bytes, SEGMENT_EVENT_RESIZED, SEGMENT_API_REALLOC, start);
	} else if (bytes == 0) {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FREED);
	} else {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FAILED);
		cold_failed();
	}
	return moved;
}

static inline void *resize_lightly(void *block, size_t bytes, const struct walk_start *start)
{
	struct light_move move;

	light_move_begin(&move, block, start);
	bool masked = real.may_nest && light_mask(start->sp);
	void *moved = real.realloc(block, bytes);

	light_unmask(masked);
	light_move_end(&move, moved, bytes, start);
	return moved;
}

static NOINLINE void *record_realloc(void *block, size_t bytes)
{
	struct walk_start start = WALK_START();

	if (unlikely(boot_owns(block)))
		return move_from_arena(block, bytes);
	if (block)
		return light_is_on() ? resize_lightly(block, bytes, &start)
				     : resize(block, bytes, &start);
	return RECORDED(real.realloc(NULL, bytes), bytes, SEGMENT_API_REALLOC);
}

EXPORT void *realloc(void *block, size_t bytes)
{
	if (light_resize(block, bytes))
		return real.realloc(block, bytes);
	return record_realloc(block, bytes);
}

EXPORT void *reallocarray(void *block, size_t count, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total)) {
		cold_failed();
		errno = ENOMEM;
		return NULL;
	}
	if (light_resize(block, total))
		return real.realloc(block, total);
	return record_realloc(block, total);
}

/* These fail where nobody is out of memory, so that what they return must be seen. */
EXPORT void *memalign(size_t alignment, size_t bytes)
{
	return RECORDED(real.memalign(alignment, bytes), bytes, SEGMENT_API_ALIGNED);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	return RECORDED(real.aligned_alloc(alignment, bytes), bytes, SEGMENT_API_ALIGNED);
}

EXPORT void *valloc(size_t bytes)
{
	return RECORDED(real.valloc(bytes), bytes, SEGMENT_API_ALIGNED);
}

EXPORT void *pvalloc(size_t bytes)
{
	return RECORDED(real.pvalloc(bytes), bytes, SEGMENT_API_ALIGNED);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	int result;

	(void)RECORDED((result = real.posix_memalign(block, alignment, bytes)) == 0 ? *block : NULL,
		       bytes, SEGMENT_API_ALIGNED);
	return result;
}

EXPORT void cfree(void *block)
{
	free(block);
}

/* Of a function that gives `block` back, and may do so through free. */
static inline bool mask_release(void *block)
{
	if (!real.may_nest)
		return false;
	return light_is_on() ? light_mask(LIGHT_FRAME()) : COLD_MASK(block);
}

EXPORT void free_sized(void *block, size_t bytes)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	release(block);
	bool masked = mask_release(block);
	real.free_sized(block, bytes);
	light_unmask(masked);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	release(block);
	bool masked = mask_release(block);
	real.free_aligned_sized(block, alignment, bytes);
	light_unmask(masked);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return boot_owns(block) ? boot_block_bytes(block) : real.usable_size(block);
}
