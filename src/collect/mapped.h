/* mapped.h -- what each event about memory that the program maps itself does to the figures. Runs:
 * in the collector process, one thread, for each such event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Maps are to these figures what blocks are to the others, and apart from them. A map of which
 * parts are gone is one map still, with fewer bytes; it is gone with its last part. */
#ifndef MIDDEN_COLLECT_MAPPED_H
#define MIDDEN_COLLECT_MAPPED_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/event.h"
#include "collect/peak.h"
#include "collect/ranges.h"
#include "collect/sites.h"

struct account;

struct mapped_map {
	uint64_t ticks;
	uint32_t site;	   /* of one that is not in use: the next such */
	uint32_t pieces;   /* ranges that are left of it */
	uint32_t in_hands; /* ranges that are gone, unless a thread says that they were kept */
};

/* What the last call of the thread in a slot took off the table. */
struct mapped_taken {
	struct range_tree tree;
	uint32_t thread; /* index */
	uint32_t state;	 /* enum in mapped.c */
	uint64_t clears; /* as of the table, when it was taken */
};

struct mapped {
	struct ranges ranges;
	VEC(struct mapped_map) maps;
	uint32_t unused; /* index plus one */
	/* By stack and kind: a site's `node` is node * SEGMENT_MAP_KINDS + kind. */
	struct sites sites;
	struct holding kinds[SEGMENT_MAP_KINDS];
	struct peak peak;
	struct mapped_taken *taken; /* by slot */
	uint64_t moved;
	uint64_t failed;
	uint64_t unknown; /* unmapped, and nothing was known to be there */
	uint64_t lost;	  /* maps that there was no room for */
	uint64_t clears;  /* how often the figures have started over */
};

void mapped_free(struct mapped *m);

/* Handles a MAP event. */
void mapped_apply(struct account *a, const struct event *e);

/* Figures start over: as if all that is mapped had been mapped now. */
void mapped_clear(struct mapped *m, uint64_t ticks);

#endif
