/* hot_word.h -- the first word of an event: when, what.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_HOT_WORD_H
#define MIDDEN_CAPTURE_HOT_WORD_H

#include <stdatomic.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"
#include "format/clock.h"

/* The stamp is taken here. */
static inline uint64_t hot_word(const struct thread *t, uint32_t kind, uint32_t api)
{
	uint64_t ticks;

	/* A second thread makes it ORDERED before it does anything that we could depend on.
	 * Whoever has seen a pointer of its making sees that too: loads are not reordered on
	 * x86_64, the one place where it matters. */
	uint32_t clock = atomic_load_explicit(&process->clock, memory_order_relaxed);
	if (clock == PROCESS_CLOCK_ALONE)
		ticks = clock_counter_alone();
	else if (likely(clock == PROCESS_CLOCK_ORDERED))
		ticks = clock_counter();
	else
		ticks = clock_monotonic_ns();
	return (ticks - t->clock_base) << 8 | api << 4 | kind;
}

#endif
