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
#include "capture/hot.h"
#include "capture/modules.h"

#define EXPORT __attribute__((visibility("default")))

/* Some allocators build one entry point on another, through the very names we stand in for. Then
 * the inner call has recorded the block already, and left its address in `last`, or has counted the
 * failure. What has been recorded before the real call is made (a resize, a free) is masked
 * instead. */
static inline void expect_inner(void)
{
	thread_self->last = NULL;
}

static inline bool was_recorded(const void *block)
{
	return thread_self->last == (block ? block : THREAD_FAILED);
}

EXPORT void *malloc(size_t bytes)
{
	void *block = real.malloc(bytes);
	struct walk_start start = WALK_START();

	hot_alloc(block, bytes, SEGMENT_API_MALLOC, &start);
	return block;
}

EXPORT void free(void *block)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	if (unlikely(modules_is_loader(__builtin_return_address(0))))
		modules_note_free(block);
	(void)hot_release(block, SEGMENT_EVENT_FREE);
	real.free(block);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	expect_inner();
	void *block = real.calloc(count, bytes);
	struct walk_start start = WALK_START();

	if (!was_recorded(block))
		hot_alloc(block, count * bytes, SEGMENT_API_CALLOC, &start);
	return block;
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

static inline void *resize(void *block, size_t bytes, const struct walk_start *start)
{
	bool begun = hot_release(block, SEGMENT_EVENT_RESIZE);
	bool masked = real.may_nest && COLD_MASK(block);
	void *moved = real.realloc(block, bytes);

	cold_unmask(masked);
	if (unlikely(!begun))
		return moved;
	if (likely(moved)) {
		hot_block(moved, bytes, SEGMENT_EVENT_RESIZED, SEGMENT_API_REALLOC, start);
	} else if (bytes == 0) {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FREED);
	} else {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FAILED);
		cold_failed();
	}
	return moved;
}

EXPORT void *realloc(void *block, size_t bytes)
{
	struct walk_start start = WALK_START();

	if (unlikely(boot_owns(block)))
		return move_from_arena(block, bytes);
	if (block)
		return resize(block, bytes, &start);
	expect_inner();
	block = real.realloc(NULL, bytes);
	if (!was_recorded(block))
		hot_alloc(block, bytes, SEGMENT_API_REALLOC, &start);
	return block;
}

EXPORT void *reallocarray(void *block, size_t count, size_t bytes)
{
	struct walk_start start = WALK_START();
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total)) {
		cold_failed();
		errno = ENOMEM;
		return NULL;
	}
	if (unlikely(boot_owns(block)))
		return move_from_arena(block, total);
	if (block)
		return resize(block, total, &start);
	expect_inner();
	block = real.realloc(NULL, total);
	if (!was_recorded(block))
		hot_alloc(block, total, SEGMENT_API_REALLOC, &start);
	return block;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	expect_inner();
	void *block = real.memalign(alignment, bytes);
	struct walk_start start = WALK_START();

	if (!was_recorded(block))
		hot_alloc(block, bytes, SEGMENT_API_ALIGNED, &start);
	return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	expect_inner();
	void *block = real.aligned_alloc(alignment, bytes);
	struct walk_start start = WALK_START();

	if (!was_recorded(block))
		hot_alloc(block, bytes, SEGMENT_API_ALIGNED, &start);
	return block;
}

EXPORT void *valloc(size_t bytes)
{
	expect_inner();
	void *block = real.valloc(bytes);
	struct walk_start start = WALK_START();

	if (!was_recorded(block))
		hot_alloc(block, bytes, SEGMENT_API_ALIGNED, &start);
	return block;
}

EXPORT void *pvalloc(size_t bytes)
{
	expect_inner();
	void *block = real.pvalloc(bytes);
	struct walk_start start = WALK_START();

	if (!was_recorded(block))
		hot_alloc(block, bytes, SEGMENT_API_ALIGNED, &start);
	return block;
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	expect_inner();
	int result = real.posix_memalign(block, alignment, bytes);
	struct walk_start start = WALK_START();

	if (was_recorded(result == 0 ? *block : NULL))
		return result;
	if (result != 0)
		cold_failed();
	else
		hot_alloc(*block, bytes, SEGMENT_API_ALIGNED, &start);
	return result;
}

EXPORT void cfree(void *block)
{
	free(block);
}

EXPORT void free_sized(void *block, size_t bytes)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	(void)hot_release(block, SEGMENT_EVENT_FREE);
	bool masked = real.may_nest && COLD_MASK(block);
	real.free_sized(block, bytes);
	cold_unmask(masked);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
	if (unlikely(!block || boot_owns(block)))
		return;
	(void)hot_release(block, SEGMENT_EVENT_FREE);
	bool masked = real.may_nest && COLD_MASK(block);
	real.free_aligned_sized(block, alignment, bytes);
	cold_unmask(masked);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return boot_owns(block) ? boot_block_bytes(block) : real.usable_size(block);
}
