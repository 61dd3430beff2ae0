/* ring.h -- event buffers: chunks of the segment, taken when one is full.
 * Runs: any thread of the target, inside malloc. Called by thread.c and cold.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_RING_H
#define MIDDEN_CAPTURE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/thread.h"

/* Takes an index off one of the header's stacks of free chunks or slots; 0: empty. */
uint32_t ring_pop_chunk(void);
uint32_t ring_pop_slot(void);

/* Gives the thread a fresh chunk as the continuation of its stream. Waits for the collector when
 * all are in use, but never longer than header.patience_ms after its last sign of life: then the
 * recording ends (false). */
bool ring_refill(struct thread *t);

/* The first chunk of a thread; false as above. */
bool ring_open(struct thread *t);

/* Has a collector that sleeps look at what there is. */
void ring_wake_collector(struct segment_header *h);

/* False: it is gone, or in another pid namespace. */
bool ring_has_collector(const struct segment_header *h);

#endif
