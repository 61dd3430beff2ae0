/* reach.h -- which blocks can still be reached, over which others, and which are lost.
 * Runs: in the collector process, one thread; pure but for what the caller lends it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The definitions are memcheck's (docs/leaks.md): a block is held if a chain of pointers to the
 * starts of blocks leads to it, and held by its interior if some pointer of every chain points
 * inside a block only. Of the others, each group that hangs together has one that is lost by
 * itself; the rest are lost with it. */
#ifndef MIDDEN_COLLECT_REACH_H
#define MIDDEN_COLLECT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct reach_block {
	uint64_t start;
	uint64_t size;
	uint32_t site;
};

enum reach_class {
	REACH_DEFINITE = 0, /* lost */
	REACH_INDIRECT,	    /* lost with another one, which points to it */
	REACH_INTERIOR,	    /* held by pointers to its inside, or over a block that is */
	REACH_HELD,
	REACH_CLASSES
};

#define REACH_INSIDE	  0x80000000u /* of a target: the pointer is not to its start */
#define REACH_ROOT	  0x80000000u /* of a holder: it is a root */
#define REACH_NONE	  UINT32_MAX
#define REACH_FAR	  UINT32_MAX /* behind the start of a block */
#define REACH_BLOCKS_MOST 0x7ffffff0u

/* A word outside of all blocks that points to one. */
struct reach_root {
	uint64_t address; /* of the word, or the number of a register */
	uint32_t target;  /* block, and REACH_INSIDE */
	uint32_t span;	  /* the caller's: what the word is part of */
	uint32_t inside;  /* how far behind the target's start it points, REACH_FAR at most */
};

/* A MiB of addresses in which blocks start; `cells` is where its cells begin, plus one. */
struct reach_span {
	uint64_t span;
	uint64_t cells;
};

/* A pointer to the inside of a block that had not been reached when it was seen. */
struct reach_doubt {
	uint32_t target; /* block */
	uint32_t holder; /* block, or root with REACH_ROOT */
	uint32_t inside; /* how far behind its start, REACH_FAR at most */
};

/* Zero-initialise, then fill in. */
struct reach {
	VEC(struct reach_block) blocks; /* in order of address, none overlapping */
	VEC(struct reach_root) roots;
	/* The pointers in block i: targets from firsts[i] to firsts[i + 1]. */
	VEC(uint64_t) firsts;
	VEC(uint32_t) targets;
	VEC(uint32_t) insides; /* by target: how far behind its start, REACH_FAR at most */
	/* Whether this pointer to the inside of a block is as good as one to its start: to the
	 * characters of a string, the elements of an array. NULL: never. */
	bool (*accepts)(void *context, const struct reach_doubt *doubt);
	void (*pulse)(void *context); /* called now and then; may be NULL */
	void *context;
	/* reach_sort's: a hash table of spans, and by cell, of which each span has as many, the
	 * first block that starts there or later. */
	struct reach_span *spans;
	size_t span_room;
	uint32_t *cells;
	unsigned cell_shift;
	/* What comes of it, by block: */
	uint8_t *classes;    /* enum reach_class */
	uint32_t *holders;   /* block, or root with REACH_ROOT, or REACH_NONE */
	VEC(uint32_t) order; /* all blocks, each behind its holder */
};

/* The block that an address lies in, REACH_INSIDE added if it is not its start; REACH_NONE. A block
 * of no bytes has its start. Blocks must be in place. */
uint32_t reach_find(const struct reach *r, uint64_t address);

/* The same for many addresses, which takes a fifth of the time: memory is asked for ahead. */
#define REACH_AT_ONCE 64u
void reach_find_many(const struct reach *r, const uint64_t *addresses, uint32_t *found,
		     size_t count);

/* Puts blocks into the order that is needed and makes finding them quick. */
void reach_sort(struct reach *r);

/* Finds out all classes and holders. */
void reach_run(struct reach *r);

void reach_fini(struct reach *r);

#endif
