/* interval.h -- within what an estimate of a sampled profile lies. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a hundred such intervals about 95 hold the true number. What is seen of a few samples has no
 * symmetric error, so they come from the gamma distribution that belongs to a number of random
 * events (docs/sampling.md). */
#ifndef MIDDEN_MODEL_INTERVAL_H
#define MIDDEN_MODEL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/figure.h"

#define INTERVAL_PERCENT 95

struct interval {
	uint64_t low;
	uint64_t high;
};

/* True if the amount is an estimate and may be off. */
bool interval_is_needed(struct amount a);

/* Of an amount that is not a change. The number itself twice if it is exact. */
struct interval interval_get_bytes(struct amount a);
struct interval interval_get_blocks(struct amount a);

/* By how much a change may be off, either way. */
uint64_t interval_get_bytes_error(struct amount change);
uint64_t interval_get_blocks_error(struct amount change);

/* With 95 % confidence every stack with as many bytes is seen; 0 if all are. */
uint64_t interval_get_limit(const struct profile *p);

#endif
