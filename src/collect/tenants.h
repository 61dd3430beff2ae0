/* tenants.h -- the target's threads as they look from outside: which have died, what they are
 * called. Runs: in the collector process, one thread, a few times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_TENANTS_H
#define MIDDEN_COLLECT_TENANTS_H

#include "collect/collector.h"

/* Ends the streams of threads that died without a word. A thread whose id has been given to another
 * one is dead as well. */
void tenants_find_dead(struct collector *c);

/* Looks up what threads are called now, of each ever more rarely. */
void tenants_look_at_names(struct collector *c);

/* The main thread's, as long as the dead process has not been waited for. */
void tenants_look_at_last_name(struct collector *c);

#endif
