/* types.h -- the live objects of a Python program by their type. Runs: in a copy of the collector,
 * beside the target, which goes on.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An object says itself what it is: its second word points to its type. Each live block is asked
 * whether it begins with one, with the words in front of it that the garbage collector and the
 * dicts of instances need. Nothing is believed before it is checked: a type is an object whose type
 * in turn, at last, is the one that is its own and is called "type"; and the flags and sizes that
 * it has must fit the block. The reads cannot fail but by finding nothing. What is no object (the
 * tables of dicts, the items of lists, memory of C code) is counted together. */
#ifndef MIDDEN_COLLECT_TYPES_H
#define MIDDEN_COLLECT_TYPES_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/account.h"

#define TYPES_NAME_BYTES 104u

/* Objects of one type; those without a name are none. */
struct types_row {
	char name[TYPES_NAME_BYTES];
	uint64_t objects;
	uint64_t bytes; /* of their blocks, as asked for */
	double objects_variance;
	double bytes_variance;
};

/* Zero-initialise. */
struct types {
	VEC(struct types_row) rows; /* those with most bytes first, what is no object last */
};

/* Looks at all live blocks of the process. No rows: it has no types that could be found. */
void types_take(struct types *t, struct account *a, int pid);
void types_fini(struct types *t);

#endif
