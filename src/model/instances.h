/* instances.h -- Python's live objects by type, as a look has found them. Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_INSTANCES_H
#define MIDDEN_MODEL_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

/* What a look has found; the rows are the profile's. */
struct instances {
	const struct profile_type *types; /* most bytes first */
	size_t count;
	uint64_t objects; /* of all types */
	uint64_t bytes;
	struct profile_type others; /* blocks that are no objects */
	bool is_estimate;	    /* of samples */
};

/* The look that `text` means: as pinning_find; NULL: the last one at a snapshot, else that at the
 * peak, else that at the end, of those that have found any objects. -1 with `e`. */
long instances_find(const struct profile *p, const char *text, struct error *e);

void instances_get(struct instances *i, const struct profile *p, size_t survey);

#endif
