/* counting.h -- what an allocation pays in tag mode: a few additions.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counters are those of the tag that the thread is in, in the segment: what has been counted is
 * there whatever becomes of the process. */
#ifndef MIDDEN_CAPTURE_COUNTING_H
#define MIDDEN_CAPTURE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"

/* glibc's word in front of a block: the size of both, flags in the three lowest bits. A block that
 * is mapped by itself has one more word in front, which does not count as usable either. */
#define COUNTING_FLAGS	UINT64_C(7)
#define COUNTING_MAPPED UINT64_C(2)

/* Whether that word has been seen to tell the size. Then the allocator is libc's, none of whose
 * functions does its work through the names that we stand in for. */
extern uint32_t counting_has_words HIDDEN;

/* Whether the word in front of the block tells its size. */
static inline bool counting_finds_word(const void *block, uint64_t *word)
{
	if (unlikely(!counting_has_words))
		return false;
	*word = *(const uint64_t *)((uintptr_t)block - sizeof(*word)); /* NOLINT: not ours */
	return likely(!(*word & COUNTING_MAPPED));
}

/* Counts a block that has been allocated: `block` itself, so that the last step can be a jump. */
NOINLINE void *counting_add_slowly(struct segment_tag_counts *c, void *block);

static inline void *counting_add(struct segment_tag_counts *c, void *block, size_t bytes,
				 uint32_t api)
{
	uint64_t word;

	c->calls[api]++;
	c->requested_bytes += bytes;
	if (unlikely(!counting_finds_word(block, &word)))
		return counting_add_slowly(c, block);
	c->allocated_bytes += word & ~COUNTING_FLAGS;
	return block;
}

/* The same before it is freed. */
NOINLINE void *counting_remove_slowly(struct segment_tag_counts *c, void *block);

static inline void *counting_remove(struct segment_tag_counts *c, void *block)
{
	uint64_t word;

	c->frees++;
	if (unlikely(!counting_finds_word(block, &word)))
		return counting_remove_slowly(c, block);
	c->freed_bytes += word & ~COUNTING_FLAGS;
	return block;
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
bool counting_mask(void);
void counting_unmask(bool masked);

#endif
