/* start.c -- a recording that begins when something is first seen. Runs: in the collector process,
 * one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/start.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"

enum verdict { VERDICT_NONE, VERDICT_NO, VERDICT_YES };

struct start {
	const struct segment_map *map;
	struct collect_start what;
	uint8_t *nodes;	 /* enum verdict of the stack up to there */
	uint8_t *places; /* enum verdict of the place alone */
};

struct start *start_new(const struct segment_map *map, const struct collect_start *what)
{
	struct start *s = mem_new(1, sizeof(*s));

	s->map = map;
	s->what = *what;
	s->nodes = mem_new(map->layout.node_count, 1);
	s->places = mem_new(map->layout.place_count, 1);
	return s;
}

void start_free(struct start *s)
{
	if (!s)
		return;
	free(s->nodes);
	free(s->places);
	free(s);
}

static const struct segment_module *get_module(const struct start *s, uint32_t index)
{
	uint32_t used = atomic_load_explicit(&s->map->header->modules_used, memory_order_acquire);
	const struct segment_module *m = &s->map->modules[index];

	/* Pairs with the release that follows the last field. */
	if (index == 0 || index > used || index >= s->map->layout.module_count ||
	    atomic_load_explicit(&m->ready, memory_order_acquire) != 1)
		return NULL;
	return m;
}

static bool is_named(const struct start *s, uint32_t index)
{
	char name[SEGMENT_MAP_TEXT_MAX];

	if (index == 0 || index >= s->map->layout.named_count || !s->what.has_name)
		return false;
	segment_map_copy_text(s->map, read_once(s->map->named[index].function), name);
	return s->what.has_name(s->what.context, name);
}

static bool judge_place(const struct start *s, uint32_t index)
{
	const struct segment_place *place = &s->map->places[index];
	const struct segment_module *m = get_module(s, read_once(place->module));
	char path[SEGMENT_MAP_TEXT_MAX];

	if (!m)
		return false;
	segment_map_copy_text(s->map, read_once(m->path_offset), path);
	if (s->what.has_library && s->what.has_library(s->what.context, path))
		return true;
	return s->what.has_function &&
	       s->what.has_function(s->what.context, path,
				    read_once(place->address) - read_once(m->bias));
}

static bool is_wanted(struct start *s, uint32_t word)
{
	uint32_t index = word & SEGMENT_NODE_PLACE_MASK;

	if (word & SEGMENT_NODE_NAMED)
		return is_named(s, index);
	if (index == 0 || index >= s->map->layout.place_count)
		return false;
	if (s->places[index] == VERDICT_NONE)
		s->places[index] = judge_place(s, index) ? VERDICT_YES : VERDICT_NO;
	return s->places[index] == VERDICT_YES;
}

/* Outwards until it is met, or a stack that is known not to have it. A node that is met again has
 * been answered: parents of a broken segment may go round in circles. */
bool start_is_met(struct start *s, uint32_t node)
{
	while (node && node < s->map->layout.node_count && s->nodes[node] == VERDICT_NONE) {
		s->nodes[node] = VERDICT_NO;
		if (is_wanted(s, read_once(s->map->nodes[node].place)))
			return true;
		node = segment_map_get_parent(s->map, node);
	}
	return false;
}
