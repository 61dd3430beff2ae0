/* stamp.h -- when an event was made.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counter takes 10 to 30 ns, which is more than all the rest of a short event. While a
 * process has one thread, the order of its events is that of its stream, and stamps need not be
 * exact to the last: where the collector sees events so close together that 32 of them pass in
 * a few microseconds (header.hurried), the counter is read for each 32nd, and those between are
 * spaced as the last 32 were. Otherwise, and as soon as there is a second thread, it is
 * read for each.
 *
 * Stamps are kept in 32nds of a tick: counters of 25 MHz are common on aarch64, where an event
 * takes less than a tick, and estimates that are a whole one apart would run away from the clock.
 *
 * An estimate can be ahead of the true time by STAMP_AHEAD ticks at most. No other stream may have
 * a stamp between: whoever opens one waits until that time is over (stamp_settle). */
#ifndef MIDDEN_CAPTURE_STAMP_H
#define MIDDEN_CAPTURE_STAMP_H

#include <stdatomic.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"
#include "capture/unwatched.h"
#include "format/clock.h"

#define STAMP_RUN_BITS 5 /* of events to one reading, while hurried */
#define STAMP_AHEAD    (UINT64_C(1024) << STAMP_RUN_BITS)

/* To what is kept, since the beginning of the recording; and back. */
static inline uint64_t stamp_from_ticks(const struct thread *t, uint64_t ticks)
{
	return (ticks - t->clock_base) << STAMP_RUN_BITS;
}

static inline uint64_t stamp_to_ticks(const struct thread *t, uint64_t stamp)
{
	return (stamp >> STAMP_RUN_BITS) + t->clock_base;
}

/* A little less than the mean of the last ones, so that few run ahead of the clock: the ticks of
 * 32 events are the 32nds of one. 0, and each is read, while the clock stands still. */
static inline uint64_t stamp_get_step(const struct thread *t, uint64_t now)
{
	uint64_t mean = now - t->stamp_read;
	uint64_t step = mean - mean / 8;

	if (!t->stamp_hurried)
		return 1;
	return step < STAMP_AHEAD ? step : STAMP_AHEAD;
}

/* The counter has been read, into a stretch of estimates, within it, or out of it: says how the
 * next stamps are made. */
static inline void stamp_turn(struct thread *t, uint64_t now, uint32_t hurried)
{
	t->stamp_step = stamp_get_step(t, now);
	t->stamp_read = now;
	t->stamp_hurried = hurried;
	if (stamp_from_ticks(t, now) > t->stamp)
		t->stamp = stamp_from_ticks(t, now);
	else
		t->stamp_hurried = 1; /* estimates ran ahead; a stream never goes back */
	t->stamp_end = hurried ? t->stamp + (t->stamp_step << STAMP_RUN_BITS) : 0;
}

/* Reads the counter of a process with one thread. */
static inline uint64_t stamp_read_alone(struct thread *t)
{
	uint64_t now = clock_counter_alone();
	uint32_t hurried = atomic_load_explicit(&process->header->hurried, memory_order_relaxed);

	if (!(hurried | t->stamp_hurried))
		return t->stamp = stamp_from_ticks(t, now);
	stamp_turn(t, now, hurried);
	return t->stamp;
}

/* The word that an event begins with, by its stamp as it is kept. */
static inline UNWATCHED uint64_t stamp_to_word(uint64_t stamp, uint32_t what)
{
	return stamp >> STAMP_RUN_BITS << 8 | what;
}

/* Stamps an event of the only thread by an estimate; false: the clock must be read for it. */
static inline UNWATCHED bool stamp_estimate(struct thread *t)
{
	uint64_t next = t->stamp + t->stamp_step;

	if (unlikely(next >= t->stamp_end))
		return false;
	t->stamp = next;
	return true;
}

/* The stamp for an event that is being made, by the counter, as it is kept; false: the kernel has
 * to be asked. An estimate is the next one's too until somebody leaves it in t->stamp. Calls
 * nothing. */
static inline bool stamp_peek(struct thread *t, uint64_t *stamp)
{
	/* A second thread makes it ORDERED before it does anything that we could depend on.
	 * Whoever has seen a pointer of its making sees that too: loads are not reordered on
	 * x86_64, the one place where it matters. */
	uint32_t clock = atomic_load_explicit(&process->clock, memory_order_relaxed);

	*stamp = t->stamp + t->stamp_step;
	if (clock == PROCESS_CLOCK_ORDERED)
		*stamp = stamp_from_ticks(t, clock_counter());
	else if (unlikely(*stamp >= t->stamp_end)) {
		if (unlikely(clock != PROCESS_CLOCK_ALONE))
			return false;
		*stamp = stamp_read_alone(t);
	}
	return true;
}

/* stamp_take where that may cost a call more. */
NOINLINE uint64_t stamp_read(struct thread *t);

/* Ticks of the clock for an event that is being made. */
static inline uint64_t stamp_take(struct thread *t)
{
	uint64_t next = t->stamp + t->stamp_step;
	uint32_t clock = atomic_load_explicit(&process->clock, memory_order_relaxed);

	if (unlikely(clock == PROCESS_CLOCK_ORDERED || next >= t->stamp_end))
		return stamp_read(t);
	t->stamp = next;
	return stamp_to_ticks(t, next);
}

/* Now, between two stamps of the only thread: all that it has made have an earlier one, all that
 * follow a later one or the same. Ticks since the beginning of the recording. May interrupt any of
 * the above. */
uint64_t stamp_divide(void);

/* From now on there are more threads than one. Returns when no estimate is ahead. */
void stamp_order(void);

/* Before the only thread opens another stream. */
void stamp_settle(void);

#endif
