/* counting.c -- the rare parts of what an allocation pays in tag mode.
 * Runs: any thread of the target, inside malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/counting.h"

#include "capture/boot.h"
#include "capture/cold.h"

/* So many sizes in a row that agree: the allocator is the one we know. */
#define TRIALS 32

uint32_t counting_has_words;

static _Atomic int agreed; /* negative: one did not */

/* The size with SEGMENT_TAG_EXTRA, from the allocator; compares it with the word until that can be
 * trusted. Only of libc's own allocator: what stands in front of another's block may be
 * anything, or not even be memory. */
static uint64_t ask_size(void *block)
{
	uint64_t size = real.usable_size(block) + SEGMENT_TAG_EXTRA;

	if (real.may_nest || counting_has_words ||
	    atomic_load_explicit(&agreed, memory_order_relaxed) < 0)
		return size;
	uint64_t word = ((const uint64_t *)block)[-1];
	if (word & COUNTING_MAPPED)
		return size;
	if ((word & ~COUNTING_FLAGS) != size)
		atomic_store(&agreed, INT32_MIN / 2);
	else if (atomic_fetch_add(&agreed, 1) == TRIALS)
		counting_has_words = 1;
	return size;
}

NOINLINE void *counting_add_slowly(struct segment_tag_counts *c, void *block)
{
	thread_self->last = block;
	c->allocated_bytes += ask_size(block);
	return block;
}

NOINLINE void *counting_remove_slowly(struct segment_tag_counts *c, void *block)
{
	thread_self->last = NULL;
	c->freed_bytes += ask_size(block);
	return block;
}

/* ---- any function, any state of the thread --------------------------------------------------- */

/* NULL: nothing is to be counted. */
static struct segment_tag_counts *enter(uint64_t frame)
{
	struct segment_tag_counts *counts = thread_self->tags.counts;

	if (likely(counts))
		return counts;
	return cold_enter(frame) ? thread_self->tags.counts : NULL;
}

void counting_note(void *block, size_t bytes, uint32_t api, uint64_t frame)
{
	struct segment_tag_counts *c = enter(frame);

	if (!block)
		cold_failed();
	else if (c)
		(void)counting_add(c, block, bytes, api);
}

void counting_note_free(void *block, uint64_t frame)
{
	struct segment_tag_counts *c = enter(frame);

	if (c)
		(void)counting_remove(c, block);
}

uint64_t counting_measure(void *block)
{
	return ask_size(block);
}

void counting_note_move(uint64_t usable_bytes, void *moved, size_t bytes, uint64_t frame)
{
	struct segment_tag_counts *c = enter(frame);

	if (!moved && bytes) {
		cold_failed();
		return;
	}
	if (!c)
		return;
	c->resizes++;
	c->freed_bytes += usable_bytes;
	if (moved)
		(void)counting_add(c, moved, bytes, SEGMENT_API_REALLOC);
}

bool counting_mask(void)
{
	struct thread *t = thread_self;

	if (!t->tags.counts || t->tags.counts == &t->uncounted)
		return false;
	t->tags.counts = &t->uncounted;
	return true;
}

void counting_unmask(bool masked)
{
	struct thread *t = thread_self;

	if (masked && t->tags.counts)
		t->tags.counts = &t->tags.at->counts;
}
