/* chains.h -- call chains kept once each, as a tree from the root. Runs: offline, called by the
 * formats that must not name a stack twice.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_CHAINS_H
#define MIDDEN_EXPORT_CHAINS_H

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"

struct chain_node {
	uint32_t id;	 /* of the frame or function, as the caller numbers them */
	uint32_t parent; /* towards the root */
	uint32_t item;	 /* the caller's; 0 at first */
};

/* Zero-initialise. Node 0 is the root: the empty chain. Parents come before their children. */
struct chains {
	VEC(struct chain_node) nodes;
	struct map index;
};

/* The node that goes on from `parent` with `id`, made if it is not there. */
uint32_t chains_extend(struct chains *c, uint32_t parent, uint32_t id);

/* Numbers the ids that are in use, in their order, from `first` on: an array by id, to be freed.
 * Ids are below `ids`; those that are not in use get UINT32_MAX. */
uint32_t *chains_number(const struct chains *c, size_t ids, uint32_t first);

/* Adds the chain that ends in `node` as a list of numbers on one line, its end first. */
void chains_write(const struct chains *c, uint32_t node, const uint32_t *numbers, struct json *j,
		  const char *key);

void chains_free(struct chains *c);

#endif
