/* build_place.h -- a place in the program's code as a frame of the profile. Runs: in the collector
 * process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_BUILD_PLACE_H
#define MIDDEN_COLLECT_BUILD_PLACE_H

#include "collect/segment_map.h"
#include "profile/profile.h"

/* Of a node's word, which is not that of a named frame, without its parent. The profile has its
 * modules. */
struct profile_node build_place(const struct segment_map *map, const struct profile *p,
				uint32_t word);

#endif
