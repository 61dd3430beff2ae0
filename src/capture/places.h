/* places.h -- pieces of code that were seen on stacks, by number; lock-free.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_PLACES_H
#define MIDDEN_CAPTURE_PLACES_H

#include <stdint.h>

#include "capture/thread.h"

/* What the tables live in, so that tests can have some without a process. */
struct places {
	_Atomic uint32_t *roots;
	struct segment_place *at;
	_Atomic uint32_t *used;
	uint32_t count;
};

/* Those of this process. */
struct places places_get(void);

/* The number of (address, module); 0: not seen yet. */
uint32_t places_find(const struct places *p, uint64_t address, uint32_t module);

/* The number of wanted->address in wanted->module, which gets wanted->rule if it is new. 0: the
 * table is full. */
uint32_t places_add(const struct places *p, const struct segment_place *wanted);

#endif
