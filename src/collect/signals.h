/* signals.h -- snapshots that signals to the program ask for.
 * Runs: in the collector process, one thread, before each round.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SIGNALS_H
#define MIDDEN_COLLECT_SIGNALS_H

#include <stdint.h>

#include "collect/collector.h"

/* Takes a snapshot for each signal that has come, as of the moment when it came; returns the number
 * of events handled. `until` is as far as others may be: to the moment of one that is ahead of the
 * clock. */
uint64_t signals_serve(struct collector *c, uint64_t *until);

#endif
