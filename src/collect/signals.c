/* signals.c -- snapshots that signals to the program ask for.
 * Runs: in the collector process, one thread, in each round.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/signals.h"

#include "collect/keeping.h"

/* Estimated stamps can be ahead of the clock, by less than this (capture/stamp.h). */
#define AHEAD_TICKS 65536u

/* The place of the earliest; SEGMENT_SIGNALS: none has come. */
static uint32_t find_first(struct segment_header *h, uint64_t *ticks)
{
	uint32_t found = SEGMENT_SIGNALS;

	for (uint32_t i = 0; i < SEGMENT_SIGNALS; i++) {
		/* Pairs with the exchange of the handler, which has published all before it. */
		uint64_t at = atomic_load_explicit(&h->signal_ticks[i], memory_order_acquire);

		if (at && (found == SEGMENT_SIGNALS || at < *ticks)) {
			found = i;
			*ticks = at;
		}
	}
	return found;
}

/* Whether it came after what is complete. A stamp that is later than any can be is none. */
static bool is_of_next_round(const struct collector *c, uint64_t ticks)
{
	return ticks > c->drain.complete && ticks < ticks_get_now(&c->clock) + AHEAD_TICKS;
}

/* The heads have been read before the signals are looked for: what the target did after a signal
 * that is not seen here is not among what they show. No more signals than there are places for: a
 * target may fill them again and again. */
uint64_t signals_serve(struct collector *c)
{
	struct segment_header *h = c->map.header;
	uint64_t handled = 0;

	for (uint32_t i = 0; i < SEGMENT_SIGNALS; i++) {
		uint64_t ticks = 0;
		uint32_t place = find_first(h, &ticks);

		if (place == SEGMENT_SIGNALS || is_of_next_round(c, ticks))
			break;
		handled += drain_until(&c->drain, &c->streams, ticks);
		/* one that has no room is counted */
		(void)keeping_take(&c->account, c->drain.limit, "signal", UINT32_MAX);
		/* The handler may have the place again: nothing else is handed over with it. */
		atomic_store_explicit(&h->signal_ticks[place], 0, memory_order_relaxed);
	}
	return handled;
}
