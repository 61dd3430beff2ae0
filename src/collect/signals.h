/* signals.h -- snapshots that signals to the program ask for.
 * Runs: in the collector process, one thread, in each round.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SIGNALS_H
#define MIDDEN_COLLECT_SIGNALS_H

#include <stdint.h>

#include "collect/collector.h"

/* Within a round. Takes a snapshot for each signal that has come, as of the moment when it came;
 * returns the number of events handled. A signal that came after the round had begun is left to the
 * next one. */
uint64_t signals_serve(struct collector *c);

#endif
