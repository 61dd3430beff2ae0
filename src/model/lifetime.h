/* lifetime.h -- how long blocks lived, by who allocated them. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_LIFETIME_H
#define MIDDEN_MODEL_LIFETIME_H

#include "model/flat.h"
#include "model/model.h"

/* Rows are told apart by the allocating frame. */
struct lifetime_row {
	uint32_t frame; /* one of it */
	uint64_t freed; /* blocks that were freed: the ones whose lifetime is known */
	uint64_t freed_bytes;
	uint64_t kept; /* blocks that were not */
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

struct lifetimes {
	const struct model *model;
	enum flat_key key;
	VEC(struct lifetime_row) rows; /* those with freed blocks, by their mean */
	struct lifetime_row whole;     /* of these rows */
	uint64_t never_freed;	       /* blocks of stacks that freed none */
	size_t never_freed_sites;
};

/* `verdicts` (enum filter_verdict by site) may be NULL: all sites. The shortest mean first, or the
 * longest. Never NULL. */
struct lifetimes *lifetime_build(const struct model *m, enum flat_key key, const uint8_t *verdicts,
				 bool shortest_first);
void lifetime_free(struct lifetimes *l);

uint64_t lifetime_get_mean(const struct lifetime_row *row);

#endif
