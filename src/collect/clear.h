/* clear.h -- figures that start over while the recording goes on. Runs: in the collector process,
 * one thread, when the program asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_CLEAR_H
#define MIDDEN_COLLECT_CLEAR_H

#include <stdint.h>

#include "collect/account.h"

/* All figures become as if the blocks that are live had been allocated at this time, by the stacks
 * and threads that they are of, and nothing else had happened. Losses stay. Nothing is done, but
 * for a count, where a trace is kept: it could not be told there. */
void clear_figures(struct account *a, uint64_t ticks);

#endif
