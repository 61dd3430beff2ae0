/* keeping.h -- what was live when somebody asked for it to be kept. Runs: in the collector process,
 * one thread, when asked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_KEEPING_H
#define MIDDEN_COLLECT_KEEPING_H

#include "collect/account.h"

/* Keeps the state as of `ticks` under a name. False, and counted, if there is no room for it. */
bool keeping_take(struct account *a, uint64_t ticks, const char *name, uint32_t thread);

#endif
