/* seen.h -- where in the program's code stacks have been, as far as the target has told.
 * Runs: in the collector process, on any thread, also while the collector's own handles events.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SEEN_H
#define MIDDEN_COLLECT_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/segment_map.h"

struct collector;

/* A call, or what was interrupted, in a loaded object. */
struct seen_place {
	uint32_t module; /* for seen_find_module */
	uint64_t address;
};

struct seen_module {
	char path[SEGMENT_MAP_TEXT_MAX]; /* "": the program itself */
	uint64_t bias;
	uint8_t build_id[SEGMENT_BUILD_ID_MAX];
	uint32_t build_id_bytes;
};

/* They have numbers from 1 to this one, which only grows. */
uint32_t seen_get_count(const struct collector *c);

/* False if it is in no object, or not told in full: of what is not in a stack yet, this may change.
 * All is the target's word. */
bool seen_find(const struct collector *c, uint32_t number, struct seen_place *place);

bool seen_find_module(const struct collector *c, uint32_t number, struct seen_module *module);

#endif
