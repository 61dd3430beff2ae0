/* ahead.h -- opens what the names of a recording need while the program still runs.
 * Runs: in a collector process; its thread beside the one that handles events.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names are looked up when the program has ended and its user waits. Most of that time goes into
 * reading debug information, which can be had earlier: the thread looks up the places that stacks
 * have been at, forgets what it found, and leaves the modules open for the look-up at the end. So
 * it decides nothing: a place that it got wrong, or did not come to, costs time. */
#ifndef MIDDEN_CLI_AHEAD_H
#define MIDDEN_CLI_AHEAD_H

#include <stdbool.h>

#include "symbol/symbol.h"

struct ahead;
struct collector;

/* Modules for the look-up at the end stay in its pool. With `is_early` the thread is started, if
 * one is to be had: it waits a moment, since most programs that end at once have little to look up,
 * and then takes only what nobody else wants of the processor. `executable` stays the caller's. */
struct ahead *ahead_new(struct collector *c, const char *executable, bool is_early);

struct symbol_pool *ahead_get_pool(const struct ahead *a);

/* Tells the thread to end, and goes on. */
void ahead_halt(struct ahead *a);

/* Waits for its end, but not long: where the processor is wanted by others, it may not come to it.
 * What it has in hand then is opened once more by who needs it, and false is returned. */
bool ahead_wait(struct ahead *a);

/* False: the thread is still there, so nothing is freed, and the collector must not be either. For
 * a process that is about to end. */
bool ahead_free(struct ahead *a);

#endif
