/* spans.h -- address ranges, made disjoint once and then searched.
 * Runs: offline; used by all tables of this room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_SPANS_H
#define MIDDEN_SYMBOL_SPANS_H

#include <stdint.h>

#include "base/vec.h"

struct span {
	uint64_t low;
	uint64_t high;	/* one past the last address */
	uint32_t item;	/* the caller's: an index into its own array */
	uint32_t depth; /* of ranges that start at one address, the greatest depth wins */
};

/* Zero-initialise. Fill with spans_add, then spans_flatten, then spans_find. */
struct spans {
	VEC(struct span) list;
};

/* Adds a range; an empty one is ignored. */
void spans_add(struct spans *s, struct span span);

/* Sorts and cuts the ranges so that none overlap: each address goes to the innermost range around
 * it, that is the one that starts last. Ranges that cross instead of nesting are put up with. May
 * be repeated after further spans_add. */
void spans_flatten(struct spans *s);

/* The range around `address`, or NULL. O(log n), after spans_flatten. */
const struct span *spans_find(const struct spans *s, uint64_t address);

void spans_free(struct spans *s);

#endif
