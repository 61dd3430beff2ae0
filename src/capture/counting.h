/* counting.h -- what an allocation pays in tag mode: a few additions.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counters are those of the tag that the thread is in, in the segment: what has been counted is
 * there whatever becomes of the process.
 *
 * glibc has a word in front of a block: the size of both, flags in the three lowest bits. A block
 * that is mapped by itself has one more word in front, which is not usable either; those of boot.c
 * look like such blocks. Once the word has been seen to tell the size, the thread counts in
 * tags.fast. Then the allocator is libc's, none of whose functions does its work through the names
 * that we stand in for. */
#ifndef MIDDEN_CAPTURE_COUNTING_H
#define MIDDEN_CAPTURE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"

#define COUNTING_FLAGS	UINT64_C(7)
#define COUNTING_MAPPED UINT64_C(2)

/* Lets the thread, which is in tag mode, count in tags.fast if the words can be trusted. */
void counting_trust(struct thread *t);

static inline uint64_t counting_word(const void *block)
{
	return *(const uint64_t *)((uintptr_t)block - sizeof(uint64_t)); /* NOLINT: not ours */
}

/* Counts a call that is about to be made. */
static inline void counting_expect(struct segment_tag_counts *c, size_t bytes, uint32_t api)
{
	c->calls[api]++;
	c->requested_bytes += bytes;
}

/* It failed: counts that instead. Returns NULL. */
NOINLINE void *counting_fail(struct segment_tag_counts *c, size_t bytes, uint32_t api);

/* Counts what is left to count of a block that has been allocated; returns it. */
NOINLINE void *counting_add_slowly(struct segment_tag_counts *c, void *block);

/* The same for one whose word tells its size, mostly. */
static inline void *counting_add(struct segment_tag_counts *c, void *block)
{
	uint64_t word = counting_word(block);

	if (unlikely(word & COUNTING_MAPPED))
		return counting_add_slowly(c, block);
	c->allocated_bytes += word & ~COUNTING_FLAGS;
	return block;
}

/* Counts a block that is to be freed. False: its word does not tell. */
static inline bool counting_remove(struct segment_tag_counts *c, const void *block)
{
	uint64_t word = counting_word(block);

	if (unlikely(word & COUNTING_MAPPED))
		return false;
	c->frees++;
	c->freed_bytes += word & ~COUNTING_FLAGS;
	return true;
}

/* ---- for light.c: any function, any state of the thread -------------------------------------- */

/* `frame` is the stack pointer of the hook's caller. */

/* A call has returned a block, or NULL. */
void counting_note(void *block, size_t bytes, uint32_t api, uint64_t frame);

/* A block is about to be given back. */
void counting_note_free(void *block, uint64_t frame);

/* The size of a block before it is resized, and how that ended: NULL and no bytes is freed. */
uint64_t counting_measure(void *block);
void counting_note_move(uint64_t usable_bytes, void *moved, size_t bytes, uint64_t frame);

/* While a function runs that may be built on others that we stand in for: what these do is counted
 * where nobody looks. False: an outer one sees to it. */
bool counting_mask(uint64_t frame);
void counting_unmask(bool masked);

#endif
