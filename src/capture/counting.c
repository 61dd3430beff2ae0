/* counting.c -- the rare parts of what an allocation pays in tag mode.
 * Runs: any thread of the target, inside malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/counting.h"

#include "capture/boot.h"
#include "capture/cold.h"

/* ---- calls that are part of another ---------------------------------------------------------- */

/* The lower half of where a frame is, less one: never 0, and less than that of any frame that is no
 * further in. */
static uint32_t mask_of(uint64_t frame)
{
	return (uint32_t)frame - 1;
}

/* A signal handler may have jumped out of the call that masks others: that has not been counted. */
static NOINLINE bool is_still_masked(struct thread *t, uint64_t frame)
{
	if (!cold_has_left(t, t->tags.masking, frame))
		return true;
	t->tags.masking = 0;
	thread_count(&t->slot->losses.lost_events);
	return false;
}

/* Whether a call by `frame` is part of one that masks it. */
static inline bool is_masked(struct thread *t, uint64_t frame)
{
	return unlikely(t->tags.masking) && is_still_masked(t, frame);
}

static inline bool mask(struct thread *t, uint64_t frame)
{
	if (!t->tags.counts || is_masked(t, frame))
		return false;
	t->tags.masking = mask_of(frame);
	return true;
}

bool counting_mask(uint64_t frame)
{
	return mask(thread_self, frame);
}

void counting_unmask(bool masked)
{
	if (masked)
		thread_self->tags.masking = 0;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* So many sizes in a row that agree: the allocator is the one we know. */
#define TRIALS 32

static _Atomic int agreed; /* negative: one did not */

static bool has_words(void)
{
	return atomic_load_explicit(&agreed, memory_order_relaxed) >= TRIALS;
}

/* Only of libc's own allocator: what stands in front of another's block may be anything, or not
 * even be memory. */
static void compare(const void *block, uint64_t size)
{
	uint64_t word = counting_word(block);

	if (word & COUNTING_MAPPED)
		return;
	if ((word & ~COUNTING_FLAGS) == size)
		atomic_fetch_add(&agreed, 1);
	else
		atomic_store(&agreed, INT32_MIN / 2);
}

/* Some allocators allocate when they are asked for the first time (gperftools), through the names
 * that we stand in for: that must not ask again. 0: it would. */
static uint64_t ask_allocator(void *block)
{
	struct thread *t = thread_self;

	if (!t->tags.counts)
		return real.usable_size(block);
	if (!mask(t, ARCH_CFA()))
		return 0;
	uint64_t size = real.usable_size(block);
	t->tags.masking = 0;
	return size;
}

/* With SEGMENT_TAG_EXTRA, from the allocator. */
static uint64_t ask_size(void *block)
{
	uint64_t size = ask_allocator(block);

	if (size && !real.may_nest && !has_words() &&
	    atomic_load_explicit(&agreed, memory_order_relaxed) >= 0)
		compare(block, size + SEGMENT_TAG_EXTRA);
	return size + SEGMENT_TAG_EXTRA;
}

void counting_trust(struct thread *t)
{
	if (t->tags.counts && has_words())
		t->tags.fast = &t->tags.at->counts;
}

NOINLINE void *counting_fail(struct segment_tag_counts *c, size_t bytes, uint32_t api)
{
	c->calls[api]--;
	c->requested_bytes -= bytes;
	return cold_fail();
}

NOINLINE void *counting_add_slowly(struct segment_tag_counts *c, void *block)
{
	c->allocated_bytes += ask_size(block);
	return block;
}

/* ---- any function, any state of the thread --------------------------------------------------- */

/* NULL: nothing is to be counted. */
static struct segment_tag_counts *enter(uint64_t frame)
{
	struct thread *t = thread_self;

	if (unlikely(!t->tags.counts)) {
		if (!cold_enter(frame, 0))
			return NULL;
		t = thread_self;
		if (!t->tags.counts)
			return NULL;
	}
	return is_masked(t, frame) ? &t->uncounted : &t->tags.at->counts;
}

void counting_note(void *block, size_t bytes, uint32_t api, uint64_t frame)
{
	struct segment_tag_counts *c = enter(frame);

	if (!block) {
		cold_failed();
	} else if (c) {
		struct thread *t = thread_self;

		if (c != &t->uncounted) /* the outer call has yet to count it */
			t->last = block;
		c->calls[api]++;
		c->requested_bytes += bytes;
		(void)counting_add_slowly(c, block);
		counting_trust(t);
	}
}

void counting_note_free(void *block, uint64_t frame)
{
	struct segment_tag_counts *c = enter(frame);

	if (!c)
		return;
	thread_self->last = NULL;
	c->frees++;
	c->freed_bytes += ask_size(block);
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
	if (!moved)
		return;
	c->calls[SEGMENT_API_REALLOC]++;
	c->requested_bytes += bytes;
	(void)counting_add_slowly(c, moved);
}
