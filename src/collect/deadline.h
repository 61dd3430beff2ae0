/* deadline.h -- how long the target may be stopped for a look, and whether that time is over.
 * Runs: in the collector process; deadline_is_over on any of its threads, all else on one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * 100 ms for each GB that is to be read, by all stops of a look together. A target of less than a
 * GB may be stopped for 100 ms, as threads take their time to stop and events to be handled
 * whatever it holds; but reading may take 25 ms of these, or its share of a GB. */
#ifndef MIDDEN_COLLECT_DEADLINE_H
#define MIDDEN_COLLECT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise: no time at all. */
struct deadline {
	bool is_open;	     /* there is none: it takes as long as it takes */
	bool is_bare;	     /* the share by size is all there is for reading */
	uint64_t ms_per_gb;  /* that share */
	uint64_t whole_ns;   /* that any target may be stopped for */
	uint64_t bytes;	     /* that are to be read, as far as is known; may be set later */
	uint64_t since_ns;   /* when it was stopped; 0: it is not */
	uint64_t reading_ns; /* when reading began in this stop; 0: it has not */
	uint64_t leaving_ns; /* that letting it go takes, in this stop; may be set in it */
	uint64_t stopped_ns; /* by stops that are over */
	uint64_t read_ns;    /* of these: by reading */
};

/* A look begins. `is_open`: it may take as long as it takes. By the variable MIDDEN_STOP_LIMIT
 * (format/env.h) there may be less time. */
void deadline_start(struct deadline *d, uint64_t bytes, bool is_open);

/* It has been stopped since then, by the monotonic clock (0: it has not); it is being read; it goes
 * on, and its time no longer passes. */
void deadline_stop(struct deadline *d, uint64_t since_ns);
void deadline_read(struct deadline *d);
void deadline_go_on(struct deadline *d);

/* Whether it is stopped, and is to be let go now. */
bool deadline_is_over(const struct deadline *d);

/* How long it may be stopped from now on, for whatever; UINT64_MAX: as long as it takes. */
uint64_t deadline_get_left(const struct deadline *d);

/* Whether a stop of so long can be begun. Less is given here than is allowed later: a stop that is
 * likely to fail is not worth it. */
bool deadline_allows(const struct deadline *d, uint64_t expected_ns);

/* How long a stop may be by that. */
uint64_t deadline_get_allowed(const struct deadline *d);

#endif
