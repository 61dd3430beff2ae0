/* flat.h -- one row per function, line or module: what it allocated itself, and what it and all it
 * called allocated. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_FLAT_H
#define MIDDEN_MODEL_FLAT_H

#include "model/figure.h"
#include "model/model.h"

enum flat_key {
	FLAT_BY_FUNCTION,
	FLAT_BY_LINE, /* of source; frames without a line are told apart as they are */
	FLAT_BY_MODULE,
	FLAT_BY_TAG, /* that the program was in; what was in none has a row too */
};

/* "It" is what a row stands for: a function, a line, a module or a tag. */
struct flat_row {
	uint32_t frame;	     /* one frame of it: the members that the key names have a meaning; of a
			      * line that several functions have, the one with the most */
	struct amount self;  /* stacks that it is the allocating end of */
	struct amount total; /* stacks that it is anywhere on; once each, however often it recurs */
};

#define FLAT_NO_TAG UINT32_MAX /* the frame of the row of what was in no tag */

/* Rows by self, then total, the largest first, equal ones by name. */
struct flat {
	const struct model *model;
	enum figure figure;
	enum flat_key key;
	struct amount whole;
	VEC(struct flat_row) rows;
};

/* Never NULL. */
struct flat *flat_build(const struct model *m, enum figure figure);

/* The same over other amounts than a figure's, one for each site; the figure tells whether bytes or
 * blocks count. NULL: the figure's own. */
struct flat *flat_build_of(const struct model *m, enum figure figure, enum flat_key key,
			   const struct amount *amounts);

/* For each frame the first one that the key does not tell from it; the caller frees it. */
uint32_t *flat_list_keys(const struct model *m, enum flat_key key);

void flat_free(struct flat *f);

#endif
