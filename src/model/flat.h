/* flat.h -- one row per function: what it allocated itself, and what it and all it called
 * allocated. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_FLAT_H
#define MIDDEN_MODEL_FLAT_H

#include "model/figure.h"
#include "model/model.h"

struct flat_row {
	uint32_t frame;	     /* one frame of the function; its line has no meaning here */
	struct amount self;  /* stacks that the function is the allocating end of */
	struct amount total; /* stacks that it is anywhere on; once each, however often it recurs */
};

/* Rows by self, then total, the largest first, equal ones by name. */
struct flat {
	const struct model *model;
	enum figure figure;
	struct amount whole;
	VEC(struct flat_row) rows;
};

/* Never NULL. */
struct flat *flat_build(const struct model *m, enum figure figure);
void flat_free(struct flat *f);

#endif
