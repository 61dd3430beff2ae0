/* timeline.h -- what was live over time, of the whole program or of some of its stacks.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_TIMELINE_H
#define MIDDEN_MODEL_TIMELINE_H

#include "model/figure.h"

struct timeline_point {
	uint64_t time_ns;
	struct amount live;
	uint64_t highest_bytes; /* since the point before; for some stacks it is what is live */
};

/* Zero-initialise; free with vec_free(&t.points). */
struct timeline {
	VEC(struct timeline_point) points;
	struct timeline_point highest; /* the one with the most bytes */
};

/* `verdicts` (enum filter_verdict by site) may be NULL: the whole program, as it was counted.
 * Otherwise the sum over the sites that are kept, as far as points tell. */
void timeline_build(struct timeline *t, const struct profile *p, const uint8_t *verdicts);

#endif
