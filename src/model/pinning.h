/* pinning.h -- who keeps the heap's pages resident, by who allocated. Runs: offline; immutable once
 * built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_PINNING_H
#define MIDDEN_MODEL_PINNING_H

#include <stdint.h>

#include "base/error.h"
#include "model/figure.h"
#include "model/flat.h"
#include "model/model.h"

/* What stacks of one origin hold. Their `sole_bytes` are added up: pages that only stacks of one
 * row have blocks on, but several of them, are in none of them. */
struct pinning_row {
	uint32_t frame; /* the first one of the program's own */
	uint32_t stacks;
	struct profile_pin held;
};

struct pinning {
	const struct model *model;
	size_t survey; /* index */
	enum flat_key key;
	struct pinning_row whole;     /* of what the filter keeps */
	VEC(struct pinning_row) rows; /* by resident bytes, the most first */
	VEC(struct profile_pin) pins; /* stacks, in the same order */
};

/* The look that `text` means: "@peak", "@end", the name or number of a snapshot, or a time with its
 * unit, "767ms" or "50%", to which it is the nearest; NULL: the last one that went well. Its index,
 * or -1 with `e`, also for one that found nothing. */
long pinning_find(const struct profile *p, const char *text, struct error *e);

/* The same of a text that is there, whatever that look has found. */
long pinning_find_named(const struct profile *p, const char *text, struct error *e);

/* `verdicts` of a filter may be NULL. Never NULL. */
struct pinning *pinning_build(const struct model *m, size_t survey, enum flat_key key,
			      const uint8_t *verdicts);
void pinning_free(struct pinning *p);

/* What each site has resident, for a tree: one for each site; the caller frees. */
struct amount *pinning_list_amounts(const struct pinning *p);

/* Whether it is the one that "@peak" means: that with the largest resident size. */
bool pinning_is_highest(const struct profile *p, size_t survey);

/* The time that means this look, as short as can be: "767ms"; the caller frees. */
char *pinning_name_time(const struct profile *p, size_t survey);

#endif
