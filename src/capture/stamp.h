/* stamp.h -- when an event was made.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counter takes 10 to 30 ns, which is more than all the rest of a short event. While a
 * process has one thread, the order of its events is that of its stream, and stamps need not be
 * exact to the last: where the collector sees events so close together that sixteen of them pass
 * in a few microseconds (header.hurried), the counter is read for each sixteenth, and those between
 * are spaced as the last sixteen were. Otherwise, and as soon as there is a second thread, it is
 * read for each.
 *
 * An estimate can be ahead of the true time by STAMP_AHEAD ticks at most. No other stream may have
 * a stamp between: whoever opens one waits until that time is over (stamp_settle). */
#ifndef MIDDEN_CAPTURE_STAMP_H
#define MIDDEN_CAPTURE_STAMP_H

#include <stdatomic.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"
#include "format/clock.h"

#define STAMP_RUN_BITS 4 /* of events to one reading, while hurried */
#define STAMP_STEP_MAX 2048u
#define STAMP_AHEAD    ((uint64_t)STAMP_STEP_MAX << STAMP_RUN_BITS)

/* The counter has been read, into a stretch of estimates, within it, or out of it: says how the
 * next stamps are made. Returns this one. */
NOINLINE uint64_t stamp_turn(struct thread *t, uint64_t now, uint32_t hurried);

static inline uint64_t stamp_take_alone(struct thread *t)
{
	if (t->stamps_left) {
		t->stamps_left--;
		return t->stamp += t->stamp_step;
	}
	uint64_t now = clock_counter_alone();
	uint32_t hurried = atomic_load_explicit(&process->header->hurried, memory_order_relaxed);
	return unlikely(hurried | t->stamp_hurried) ? stamp_turn(t, now, hurried) : now;
}

/* Ticks of the clock for an event that is being made. */
static inline uint64_t stamp_take(struct thread *t)
{
	/* A second thread makes it ORDERED before it does anything that we could depend on.
	 * Whoever has seen a pointer of its making sees that too: loads are not reordered on
	 * x86_64, the one place where it matters. */
	uint32_t clock = atomic_load_explicit(&process->clock, memory_order_relaxed);

	if (clock == PROCESS_CLOCK_ALONE)
		return stamp_take_alone(t);
	if (likely(clock == PROCESS_CLOCK_ORDERED))
		return clock_counter();
	return clock_monotonic_ns();
}

/* From now on there are more threads than one. Returns when no estimate is ahead. */
void stamp_order(void);

/* Before the only thread opens another stream. */
void stamp_settle(void);

#endif
