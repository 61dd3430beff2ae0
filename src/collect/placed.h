/* placed.h -- the live blocks in order of address. Runs: in a copy of the collector, when somebody
 * wants to know what lies where.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_PLACED_H
#define MIDDEN_COLLECT_PLACED_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/account.h"

struct placed {
	uint64_t ptr;
	uint64_t size;
	uint32_t site;
};

/* Zero-initialise. */
struct placed_list {
	VEC(struct placed) blocks;
};

void placed_fini(struct placed_list *l);

/* All that are live, those that a realloc is moving at the moment too, lowest address first. */
void placed_build(struct placed_list *l, struct account *a);

/* The order alone: of blocks that were put there by hand. */
void placed_sort(struct placed_list *l);

#endif
