/* stackdepth.h -- how deep the stacks of a process are. Runs: in the collector process, one thread,
 * when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_STACKDEPTH_H
#define MIDDEN_COLLECT_STACKDEPTH_H

#include "collect/collector.h"

/* Looks at the stacks of the threads that wait for it, which profiles have from then on, and lets
 * them go on. */
void stackdepth_serve(struct collector *c);

/* Looks at all stacks and loaded objects that are there now. */
void stackdepth_look(struct collector *c);

#endif
