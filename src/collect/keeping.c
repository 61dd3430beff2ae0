/* keeping.c -- what was live when somebody asked for it to be kept. Runs: in the collector process,
 * one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/keeping.h"

#include <stdio.h>

/* A thread that was held up between stamp and publication may come after a later point. */
static uint64_t hold_time(const struct account *a, uint64_t ticks)
{
	size_t count = a->series.points.count;
	uint64_t last = count ? a->series.points.at[count - 1].time_ns : 0;

	return ticks > last ? ticks : last;
}

bool keeping_take(struct account *a, uint64_t ticks, const char *name, uint32_t thread)
{
	struct snapshot taken = {
		.ticks = hold_time(a, ticks),
		.live_bytes = a->peak.live_bytes,
		.live_blocks = a->peak.live_blocks,
		.thread = thread,
	};

	if (a->snapshots.count >= ACCOUNT_SNAPSHOTS_MAX || !series_can_pin(&a->series)) {
		a->lost_snapshots++;
		return false;
	}
	(void)snprintf(taken.name, sizeof(taken.name), "%s", name);
	series_pin(&a->series);
	account_add_point(a, taken.ticks);
	*vec_push(&a->snapshots) = taken;
	return true;
}
