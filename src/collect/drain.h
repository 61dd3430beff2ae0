/* drain.h -- rounds: all events up to now, merged by time, into the account.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A round reads the clock and then all heads, and handles what is stamped earlier than that
 * reading. Whatever could precede such an event was published before the event was stamped, so
 * it is among what the heads show: the merged order is right for every block. */
#ifndef MIDDEN_COLLECT_DRAIN_H
#define MIDDEN_COLLECT_DRAIN_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/streams.h"

/* A stream's place in the merge. */
struct turn {
	uint64_t ticks; /* of its next event */
	uint32_t slot;
};

/* Zero-initialise. */
struct drain {
	VEC(struct turn) turns; /* a heap: the earliest first */
	struct event_batch batch;
	uint32_t patience; /* how many events may still be moved to settle ties */
	uint64_t complete; /* in this round: what is stamped earlier has been published */
	uint64_t limit;	   /* what is stamped earlier has been handled */
};

void drain_fini(struct drain *d);

/* A round: the beginning, any number of parts, the end. A part handles what is stamped earlier than
 * `until`; the end all that is left. Both return the number of events handled. */
void drain_begin(struct drain *d, struct streams *s);
uint64_t drain_until(struct drain *d, struct streams *s, uint64_t until);
uint64_t drain_end(struct drain *d, struct streams *s);

#endif
