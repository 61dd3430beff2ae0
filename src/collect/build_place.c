/* build_place.c -- a place in the program's code as a frame of the profile. Runs: in the collector
 * process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/build_place.h"

struct profile_node build_place(const struct segment_map *map, const struct profile *p,
				uint32_t word)
{
	uint32_t index = word & SEGMENT_NODE_PLACE_MASK;
	const struct segment_place *place =
		&map->places[index < map->layout.place_count ? index : 0];
	uint32_t module = read_once(place->module);
	bool exact = (word & SEGMENT_NODE_EXACT) != 0;
	uint64_t address = read_once(place->address);

	return (struct profile_node){
		.pc = address && !exact ? address + 1 : address,
		.module = module < p->modules.count ? module : 0,
		.exact = exact,
		.cut = (word & SEGMENT_NODE_CUT) != 0,
	};
}
