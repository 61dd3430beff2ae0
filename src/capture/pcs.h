/* pcs.h -- pieces of code that were seen on stacks, by number; lock-free.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_PCS_H
#define MIDDEN_CAPTURE_PCS_H

#include <stdint.h>

#include "capture/thread.h"

/* What the tables live in, so that tests can have some without a process. */
struct pcs {
	_Atomic uint32_t *roots;
	struct segment_place *at;
	_Atomic uint32_t *used;
	uint32_t count;
};

/* Those of this process. */
struct pcs pcs_get(void);

/* The number of (address, module); 0: not seen yet. */
uint32_t pcs_find(const struct pcs *p, uint64_t address, uint32_t module);

/* The number of wanted->address in wanted->module, which gets wanted->rule if it is new. 0: the
 * table is full. */
uint32_t pcs_add(const struct pcs *p, const struct segment_place *wanted);

#endif
