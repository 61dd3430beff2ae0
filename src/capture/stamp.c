/* stamp.c -- when an event was made.
 * Runs: any thread of the target, inside malloc. Called by hot.h and thread.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/stamp.h"

/* A little less than the mean of the last ones, so that few run ahead of the clock. */
static uint32_t get_step(const struct thread *t, uint64_t now)
{
	uint64_t mean = (now - t->stamp_read) >> STAMP_RUN_BITS;
	uint64_t step = mean - mean / 8;

	if (!t->stamp_hurried)
		return 0;
	return step < STAMP_STEP_MAX ? (uint32_t)step : STAMP_STEP_MAX;
}

NOINLINE uint64_t stamp_turn(struct thread *t, uint64_t now, uint32_t hurried)
{
	t->stamp_step = get_step(t, now);
	t->stamp_read = now;
	t->stamp_hurried = hurried;
	t->stamps_left = hurried ? (1u << STAMP_RUN_BITS) - 1 : 0;
	if (now > t->stamp) /* else estimates ran ahead; a stream never goes back */
		t->stamp = now;
	return t->stamp;
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
