/* pairing.h -- parts of two profiles brought together in rows, each part in exactly one.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_PAIRING_H
#define MIDDEN_MODEL_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* What is compared: a stack, a function, a line, a module. */
struct pairing_part {
	uint32_t subject; /* the caller's: a site or a frame */
	uint32_t row;	  /* from 1 on; 0: not in one yet */
};

/* Line numbers of a part, outermost first. */
struct pairing_lines {
	uint32_t *at;
	size_t count;
	size_t room;
};

/* How parts are told apart. */
struct pairing_keys {
	/* The key of a part; parts with equal keys belong together, those with key 0 stay out. A
	 * bit of `marks` that is set on both sides of a key keeps all of it apart; it comes in as
	 * 0. */
	uint32_t (*get)(void *context, unsigned side, uint32_t subject, uint64_t *marks);
	/* Appends the part's lines; NULL: parts with equal keys are one. */
	void (*add_lines)(void *context, unsigned side, uint32_t subject,
			  struct pairing_lines *out);
	void *context;
};

/* Zero-initialise and fill `parts`; pairing_fini frees. */
struct pairing {
	VEC(struct pairing_part) parts[2];
	uint32_t rows; /* given out so far */
};

/* Brings together the parts that have no row yet and whose key is on both sides. Lines decide
 * within a key: where one side's lines are among the other's, equal ones go together and the rest
 * stays alone; where there are as many on both sides they go together in their order, which lines
 * that were put in do not change; else all of the key is one row. */
void pairing_pass(struct pairing *p, const struct pairing_keys *keys);

/* Gives rows to all that are left: one for each key and line, of one side alone. */
void pairing_finish(struct pairing *p, const struct pairing_keys *keys);

/* Puts one part of each side into a row of their own. */
void pairing_join(struct pairing *p, size_t old_part, size_t new_part);

void pairing_fini(struct pairing *p);

#endif
