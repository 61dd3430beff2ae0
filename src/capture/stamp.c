/* stamp.c -- when an event was made.
 * Runs: any thread of the target, inside malloc. Called by hot.h and thread.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stamp.h"

NOINLINE uint64_t stamp_read(struct thread *t)
{
	uint64_t stamp;

	if (!stamp_peek(t, &stamp))
		return clock_monotonic_ns();
	t->stamp = stamp;
	return stamp_to_ticks(t, stamp);
}

/* The last of a run of estimates is ahead of the clock or behind it, and so would those that follow
 * be. */
static uint64_t end_run(struct thread *t, uint64_t now)
{
	uint64_t past = (t->stamp >> STAMP_RUN_BITS) + 1;

	if (now < past)
		now = past;
	t->stamp = now << STAMP_RUN_BITS;
	t->stamp_read = now + t->clock_base;
	t->stamp_hurried = 1; /* the next one must not go back */
	t->stamp_end = 0;
	return now;
}

uint64_t stamp_divide(void)
{
	const struct segment_header *h = process->header;
	struct thread *t = thread_self;
	uint64_t now = (clock_read(h->clock) - h->clock_base) & SEGMENT_TICKS_MASK;

	/* A thread without a stream has no stamps. */
	if (atomic_load_explicit(&process->clock, memory_order_relaxed) != PROCESS_CLOCK_ALONE ||
	    t == &thread_none)
		return now + 1;
	return end_run(t, now);
}

/* Twice as long as needed, for a thread that sees late that it is not alone any more. */
static void wait_since(uint64_t start)
{
	while (clock_counter() - start < 2 * STAMP_AHEAD)
		continue;
}

void stamp_settle(void)
{
	if (process->header->clock == SEGMENT_CLOCK_COUNTER)
		wait_since(clock_counter());
}

void stamp_order(void)
{
	uint32_t alone = PROCESS_CLOCK_ALONE;
	uint64_t never = 0;

	if (process->header->clock != SEGMENT_CLOCK_COUNTER)
		return;
	if (atomic_load(&process->ordered_ticks) == 0)
		(void)atomic_compare_exchange_strong(&process->ordered_ticks, &never,
						     clock_counter());
	(void)atomic_compare_exchange_strong(&process->clock, &alone, PROCESS_CLOCK_ORDERED);
	wait_since(atomic_load(&process->ordered_ticks));
}
