/* replay.h -- what was live at a moment, site by site: exactly from a trace, else as of the last
 * point of the time line. Runs: offline; called by reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_REPLAY_H
#define MIDDEN_MODEL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/figure.h"
#include "profile/profile.h"

struct replay {
	struct amount *live; /* by site; replay_fini frees it */
	struct amount whole;
	uint64_t time_ns; /* that this is the state of: the one asked for, or the point's */
	bool exact;	  /* every event up to the time asked for is in it */
};

/* The state after all that happened up to `time_ns`. The trace is read from the last point before
 * it on. 0, or -1 with `e` if the trace turns out to be damaged. */
int replay_init(struct replay *r, const struct profile *p, uint64_t time_ns, struct error *e);

/* The state at a point of the time line, which is exact. */
void replay_init_at_point(struct replay *r, const struct profile *p, size_t point);

void replay_fini(struct replay *r);

#endif
