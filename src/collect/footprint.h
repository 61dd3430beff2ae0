/* footprint.h -- what midden itself takes of the target's memory. Runs: in the collector process,
 * one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_FOOTPRINT_H
#define MIDDEN_COLLECT_FOOTPRINT_H

#include <stdint.h>

struct collector;

/* In bytes: what the target's mapping of the segment has resident, and the library's own. */
uint64_t footprint_get(const struct collector *c);

#endif
