/* obey.h -- what the program orders while it is recorded: snapshots, switches, a fresh start,
 * answers. Runs: in the collector process, one thread, for the events that ask for it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders take effect where they stand among the events of all threads, in order of time. */
#ifndef MIDDEN_COLLECT_OBEY_H
#define MIDDEN_COLLECT_OBEY_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/account.h"
#include "collect/event.h"

void obey_fini(struct account *a);

/* Recording is off from the start, until the program switches it on. */
void obey_delay(struct account *a);

/* A NAME, a MARK or an ORDER. */
void obey_event(struct account *a, const struct event *e);

/* Whether allocations of the thread in this slot are not to be counted. */
static inline bool obey_is_off(const struct account *a, uint32_t slot)
{
	return segment_switch_is_off(
		segment_switch_later(a->switch_word, a->actors[slot].switch_word));
}

/* Recording is off until something is seen: switches it on if an allocation shows it. */
void obey_start(struct account *a, const struct event *e);

/* Whether an allocation is not to be counted. */
static inline bool obey_leaves_out(struct account *a, const struct event *e)
{
	if (a->start && obey_is_off(a, e->slot))
		obey_start(a, e);
	return obey_is_off(a, e->slot);
}

/* For how long recording was off for all threads until then, since figures started over. */
uint64_t obey_get_off_ticks(const struct account *a, uint64_t now);

/* The node of an allocation: that of no stack, if its size has none. */
static inline uint32_t obey_get_node(const struct account *a, const struct event *e)
{
	return segment_is_stackless(a->threshold, e->size) ? 0 : e->node;
}

/* Tells the thread that asked whether what it asked for was done. */
void obey_answer(struct account *a, uint32_t slot, uint32_t question, bool done);

#endif
