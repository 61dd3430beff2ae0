/* series.h -- the heap over time: a few hundred points, and which sites changed between them.
 * Runs: in the collector process, one thread, when an event crosses the next point's time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the points or the changes are full, each pair of points becomes one and the interval
 * doubles: memory stays bounded, resolution follows the length of the recording. Times are
 * ticks.
 *
 * A point can be pinned: it stays as it is, and does not count among those that must be few. */
#ifndef MIDDEN_COLLECT_SERIES_H
#define MIDDEN_COLLECT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/sites.h"
#include "profile/profile.h"

#define SERIES_POINTS_MAX  512u
#define SERIES_CHANGES_MAX 4000000u

struct series {
	VEC(struct profile_point) points; /* time_ns holds ticks */
	VEC(struct profile_change) changes;
	VEC(uint32_t) pins; /* indices of pinned points, ascending */
	bool pin_next;
	uint64_t interval;
	uint64_t next; /* the time of the next point */
	size_t changes_max;
};

void series_init(struct series *s, uint64_t interval);
void series_fini(struct series *s);

/* Adds `state` as a point at state->time_ns, with the sites that have changed since the last
 * one, and empties their list. */
void series_add(struct series *s, const struct profile_point *state, struct sites *sites);

/* Whether there is room for one more point that must stay. */
bool series_can_pin(const struct series *s);

/* The point that is added next stays. */
void series_pin(struct series *s);

/* Sets the next point's time to the first multiple of the interval after `ticks`. */
void series_skip(struct series *s, uint64_t ticks);

/* Copies points and changes into the profile, with `state` as the last point; nothing here
 * changes. The caller converts the times. */
void series_build(const struct series *s, const struct profile_point *state,
		  const struct sites *sites, struct profile *p);

#endif
