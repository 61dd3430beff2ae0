/* seen.c -- where in the program's code stacks have been, as far as the target has told.
 * Runs: in the collector process, on any thread: reads the segment and nothing of the collector's
 * but where that is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/seen.h"

#include <stdatomic.h>

#include "collect/collector.h"

uint32_t seen_get_count(const struct collector *c)
{
	uint32_t used = atomic_load_explicit(&c->map.header->places_used, memory_order_acquire);
	uint32_t most = c->map.layout.place_count;

	return used < most ? used : most - 1;
}

bool seen_find(const struct collector *c, uint32_t number, struct seen_place *place)
{
	const struct segment_place *from = &c->map.places[number];

	place->module = read_once(from->module);
	place->address = read_once(from->address);
	return place->module != 0 && place->address != 0;
}

bool seen_find_module(const struct collector *c, uint32_t number, struct seen_module *module)
{
	uint32_t used = atomic_load_explicit(&c->map.header->modules_used, memory_order_acquire);
	const struct segment_module *from = &c->map.modules[number];

	/* Pairs with the release that follows the last field. */
	if (number == 0 || number > used || number >= c->map.layout.module_count ||
	    atomic_load_explicit(&from->ready, memory_order_acquire) != 1)
		return false;
	segment_map_copy_text(&c->map, read_once(from->path_offset), module->path);
	module->bias = read_once(from->bias);
	module->build_id_bytes = read_once(from->build_id_bytes);
	if (module->build_id_bytes > sizeof(module->build_id))
		module->build_id_bytes = sizeof(module->build_id);
	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		module->build_id[i] = read_once(from->build_id[i]);
	return true;
}
