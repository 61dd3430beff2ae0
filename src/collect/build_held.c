/* build_held.c -- what somebody held, as the figures of a site in a profile. Runs: in the collector
 * process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/build_held.h"

struct profile_site build_held(struct holding *held, const struct peak *peak,
			       const struct ticks *clock)
{
	holding_settle(held, peak);
	return (struct profile_site){
		.allocations = held->allocations,
		.allocated_bytes = held->allocated_bytes,
		.frees = held->frees,
		.freed_bytes = held->freed_bytes,
		.size_min = held->size_min,
		.size_max = held->size_max,
		.live_blocks = holding_get_blocks(held),
		.live_bytes = holding_get_bytes(held),
		.at_peak_blocks = held->at_peak_blocks,
		.at_peak_bytes = held->at_peak_bytes,
		.own_peak_bytes = held->own_peak_bytes,
		.own_peak_time_ns = ticks_to_ns(clock, held->own_peak_ticks),
		.lifetime_min_ns = held->life_min == UINT64_MAX
					   ? UINT64_MAX
					   : ticks_to_ns(clock, held->life_min),
		.lifetime_max_ns = ticks_to_ns(clock, held->life_max),
		.lifetime_sum_ns = ticks_to_ns(clock, held->life_sum),
	};
}
