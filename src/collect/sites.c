/* sites.c -- figures per allocating stack. Runs: in the collector process, one thread, for every
 * event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/sites.h"

#include <string.h>

void sites_fini(struct sites *s)
{
	vec_free(&s->list);
	vec_free(&s->by_node);
	vec_free(&s->changed);
}

static void cover_node(struct sites *s, uint32_t node)
{
	size_t more = (size_t)node + 1 - s->by_node.count;

	vec_reserve(&s->by_node, more);
	memset(s->by_node.at + s->by_node.count, 0, more * sizeof(s->by_node.at[0]));
	s->by_node.count += more;
}

uint32_t sites_add(struct sites *s, uint32_t node, uint32_t thread)
{
	if (node >= s->by_node.count)
		cover_node(s, node);

	struct site *site = vec_push(&s->list);
	*site = (struct site){.node = node, .thread = thread};
	holding_init(&site->held);
	s->by_node.at[node] = (uint32_t)s->list.count;
	return (uint32_t)s->list.count - 1;
}

void sites_note_change(struct sites *s, uint32_t index)
{
	s->list.at[index].changed = true;
	*vec_push(&s->changed) = index;
}
