/* orders.h -- events by which the program tells the recorder what to do.
 * Runs: any thread of the target, outside of malloc. Called by marks.c, steer.c, reports.c,
 * init.c and thread.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_ORDERS_H
#define MIDDEN_CAPTURE_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/thread.h"

/* One event of four words. False: nothing is being recorded. */
bool orders_put(uint32_t kind, uint32_t order, const uint64_t words[3]);

/* The text that belongs to the order that comes next: NAME events. False as above. */
bool orders_put_text(const char *text, size_t bytes);

/* The number of a question that the calling thread is going to ask. */
uint64_t orders_get_question(void);

/* Waits for the answer to the calling thread's question, at most so long. False: there is none, or
 * what was asked for could not be done. The figures, if wanted, are those of the answer. */
bool orders_await(uint64_t question, uint64_t most_ms, uint64_t figures[SEGMENT_FIGURES]);

/* Waits until the stack of the calling thread, or all memory that is not heap, has been looked at.
 */
void orders_await_look(bool all);

#endif
