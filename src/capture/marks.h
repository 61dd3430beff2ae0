/* marks.h -- snapshots that the program asks for, and a signal that does.
 * Runs: at start-up; the others in any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_MARKS_H
#define MIDDEN_CAPTURE_MARKS_H

#include <stdint.h>

/* The number of the next order that a thread waits for; it must be given then. */
uint32_t marks_number(void);

/* A counter has no time: in tag mode what is counted now is what an order is about, so the
 * collector must have read it before the program goes on. Not for ever, should it be stopped. */
void marks_await(uint32_t number);

/* Has each signal of this number ask for a snapshot; 0: none is wanted. */
void marks_take_signal(int number);

#endif
