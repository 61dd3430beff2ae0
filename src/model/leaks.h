/* leaks.h -- the blocks that were not freed, by how they are still held and by site.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_LEAKS_H
#define MIDDEN_MODEL_LEAKS_H

#include "model/figure.h"
#include "model/model.h"

struct leaks_row {
	const struct profile_lost *lost;
	struct amount amount;
	struct amount held; /* lost with it */
};

struct leaks {
	const struct model *model;
	VEC(struct leaks_row) rows; /* of the classes wanted; by class, the largest first */
	struct amount
		classes[PROFILE_LOST_CLASSES]; /* of all classes; without what is suppressed */
	struct amount suppressed;	       /* not reachable, and known to be harmless */
};

/* `suppressed` is by site, or NULL; what is reachable is never suppressed. `wanted` has a bit for
 * each class (1 << enum profile_lost_class). */
void leaks_build(struct leaks *l, const struct model *m, const bool *suppressed, unsigned wanted);
void leaks_free(struct leaks *l);

/* Makes one row of those whose stacks read the same, for people. */
void leaks_join(struct leaks *l);

/* "definite", "indirect", "interior", "reachable": the names in JSON and on the command line. */
const char *leaks_get_name(unsigned class);

/* The class of that name; PROFILE_LOST_CLASSES if there is none. */
unsigned leaks_find_class(const char *name, size_t bytes);

/* Lost bytes and blocks: definite and indirect. */
struct amount leaks_get_lost(const struct leaks *l);

/* What a link is, for people: "the variable table (prog)", "the stack of thread 12". malloc'ed, not
 * escaped. NULL for a block. */
char *leaks_name_root(const struct profile *p, const struct profile_link *link);

#endif
