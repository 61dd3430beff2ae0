/* ranges.h -- which range of addresses belongs to which map; ranges do not overlap, and any part of
 * them can be taken out. Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A treap: a search tree by address that is a heap by random numbers, so that it is balanced in
 * whatever order addresses come. O(log n) for each piece that comes or goes. */
#ifndef MIDDEN_COLLECT_RANGES_H
#define MIDDEN_COLLECT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Addresses start to end - 1; which map they are of is the owner's business. */
struct range {
	uint64_t start;
	uint64_t end;
	uint32_t map;
	/* the tree's own */
	uint32_t rank;
	uint32_t left;
	uint32_t right;
};

/* A tree of its own, by the index of its root; 0 none. */
struct range_tree {
	uint32_t root;
};

/* Zero-initialise. */
struct ranges {
	VEC(struct range) all; /* [0] is none */
	uint32_t unused;       /* list of free ones, by `left` */
	uint64_t random;
	struct range_tree live;
};

void ranges_fini(struct ranges *r);

/* Adds a range where none is: what is there must have been taken before. */
void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t map);

/* Takes all that lies in a range out of the tree of live ones. A range that crosses its ends is
 * cut: each piece beyond is a range of the same map; `split` is told for each cut. */
struct range_tree ranges_take(struct ranges *r, uint64_t start, uint64_t end,
			      void (*split)(void *context, uint32_t map), void *context);

/* The range that begins at an address; NULL if none does. Valid until the next change. */
const struct range *ranges_find(const struct ranges *r, uint64_t start);

/* Calls `visit` for each range of a tree that has been taken, in order of addresses. */
void ranges_visit(struct ranges *r, struct range_tree tree,
		  void (*visit)(void *context, const struct range *range), void *context);

/* Puts the ranges of a tree that has been taken back. Nothing may be there: see ranges_add. */
void ranges_put_back(struct ranges *r, struct range_tree tree);

/* Forgets a tree that has been taken. */
void ranges_drop(struct ranges *r, struct range_tree tree);

#endif
