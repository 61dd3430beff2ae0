/* gate.h -- what is recorded while not everything is: recording switched off, by the thread or for
 * all, and stacks left out by size.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called by hot.h once
 * `pos >= limit`, by ring.c for each new chunk.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that is to leave something out has its gate shut: its chunk_limit is NULL, so that each
 * event leaves the hot path, which pays nothing for all this otherwise. A thread that others switch
 * off learns of it with its next chunk, one that they switch on with its next event: the collector,
 * who has all events in order of time, drops what came too late. Frees are recorded all the while:
 * what was recorded must be seen to go. */
#ifndef MIDDEN_CAPTURE_GATE_H
#define MIDDEN_CAPTURE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/thread.h"
#include "capture/walk_start.h"
#include "format/segment.h"

/* Whether the thread's allocations are recorded. */
static inline bool gate_is_on(const struct thread *t)
{
	/* Pairs with the exchange in gate_switch. */
	uint64_t all = atomic_load_explicit(&process->switch_word, memory_order_acquire);

	return !segment_switch_is_off(segment_switch_later(all, t->switch_word));
}

/* Whether its events have to be looked at one by one. */
static inline bool gate_is_shut(const struct thread *t)
{
	return !gate_is_on(t) ||
	       atomic_load_explicit(&process->threshold, memory_order_relaxed) != 0;
}

/* Keeps the later of two states of the process's switch. */
void gate_switch(uint64_t word);

/* Shuts or opens the gate of the calling thread, which is busy. */
void gate_update(struct thread *t);

/* How a realloc ended that left no new block that we know: RESIZE_FAILED or RESIZE_FREED. */
NOINLINE void gate_end_resize(uint32_t kind);

enum gate_answer {
	GATE_OPEN,  /* the event is to be written as ever */
	GATE_DONE,  /* it has been */
	GATE_CLOSED /* there is none to write */
};

/* A block has come, and the thread has left the hot path: makes it able to write the event, as
 * cold_enter does. `what` is its kind and api. */
NOINLINE enum gate_answer gate_admit_block(const struct walk_start *start, void *block,
					   size_t bytes, uint32_t what);

/* The same for one that is about to go. */
NOINLINE bool gate_admit_release(uint64_t frame, uint64_t pc);

#endif
