/* build_deepest.c -- the functions that threads were in when their stacks were deepest. Runs: in
 * the collector process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each frame is a node of its own, below the one that called it: they are shared with no stack
 * that allocates. */
#include "collect/build_deepest.h"

#include "collect/build_place.h"

#define FRAMES_MOST (1u << 20) /* of all threads together; an honest target has far fewer */

/* The frame that a node of the path stands for; NULL: it is damaged. */
static const struct segment_named *find_frame(const struct segment_map *map, uint32_t node)
{
	uint32_t word = read_once(map->nodes[node].place);
	uint32_t index = word & SEGMENT_NODE_PLACE_MASK;

	if (!(word & SEGMENT_NODE_NAMED) || !index || index >= map->layout.named_count ||
	    read_once(map->named[index].kind) != SEGMENT_NAMED_FRAME)
		return NULL;
	return &map->named[index];
}

/* Innermost first. A loop ends with the room for frames. */
static void add_upwards(const struct segment_map *map, struct profile *p, uint32_t serial,
			uint32_t node)
{
	while (node && node < map->layout.node_count && p->depths.count < FRAMES_MOST) {
		const struct segment_named *frame = find_frame(map, node);
		uint32_t parent = segment_map_get_parent(map, node);

		if (!frame)
			return;
		*vec_push(&p->depths) = (struct profile_depth){
			.thread = serial,
			.node = read_once(frame->function), /* add_thread makes it a node */
			.bytes = read_once(frame->line),
		};
		node = parent;
	}
}

static void reverse(struct profile_depth *rows, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct profile_depth other = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = other;
	}
}

static void add_thread(const struct segment_map *map, struct profile *p, const struct thread *t)
{
	size_t first = p->depths.count;
	uint32_t parent = 0;

	add_upwards(map, p, t->serial, t->deepest_node);
	reverse(p->depths.at + first, p->depths.count - first);
	for (size_t i = first; i < p->depths.count; i++) {
		struct profile_node *node = vec_push(&p->nodes);

		*node = build_place(map, p, p->depths.at[i].node & SEGMENT_NODE_PLACE_MASK);
		node->parent = parent;
		parent = p->depths.at[i].node = (uint32_t)p->nodes.count - 1;
	}
}

/* In order of serials, as threads are in the profile. */
void build_deepest(const struct collector *c, struct profile *p)
{
	const struct threads *threads = &c->account.threads;

	for (size_t serial = 1; serial < threads->by_serial.count; serial++) {
		uint32_t index = threads->by_serial.at[serial];
		const struct thread *t = index ? &threads->list.at[index - 1] : NULL;

		if (t && !t->shared && t->deepest_node)
			add_thread(&c->map, p, t);
	}
}
