/* spread.h -- how much the recordings behind a merged profile differ, and which one stands out.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_SPREAD_H
#define MIDDEN_MODEL_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define SPREAD_NONE SIZE_MAX

enum spread_figure {
	SPREAD_PEAK,
	SPREAD_LEAKED,
	SPREAD_ALLOCATED,
	SPREAD_CALLS,
	SPREAD_RESIDENT,
	SPREAD_FIGURES
};

struct spread {
	uint64_t least;
	uint64_t most;
	uint64_t median;
	double mean;
	size_t least_input;
	size_t most_input;
	/* The input that is farthest from the median, if it is out of line: of three or more, by
	 * more than a fifth of the median and five times as far as the others usually are. */
	size_t outlier;
};

/* "peak_bytes", ...: as in the totals. */
const char *spread_get_name(enum spread_figure f);
uint64_t spread_get_value(const struct profile_input *in, enum spread_figure f);

/* Of a profile with one input or more. */
struct spread spread_find(const struct profile *p, enum spread_figure f);

#endif
