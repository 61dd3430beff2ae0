/* tenants.c -- threads that died without a word, and still have a slot. Runs: in the collector
 * process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/tenants.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collect/collector.h"

struct tenant {
	uint32_t tid;
	uint32_t serial;
	uint32_t slot;
};

static int compare(const void *a, const void *b)
{
	const struct tenant *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->serial > y->serial) - (x->serial < y->serial);
}

/* The open slots by thread id, for one id the oldest thread first. The caller frees. */
static struct tenant *list_open(const struct streams *s, size_t *count)
{
	struct tenant *list = mem_new(s->open + 1, sizeof(*list));

	*count = 0;
	for (uint32_t slot = 1; slot <= s->used; slot++)
		if (s->at[slot].state == STREAM_OPEN)
			list[(*count)++] =
				(struct tenant){s->at[slot].tid, s->at[slot].serial, slot};
	qsort(list, *count, sizeof(*list), compare);
	return list;
}

/* Whether the thread's id has been given to another one. A slot of the same thread is not that: one
 * that comes back has said that it has left the other, which may not have been seen yet. */
static bool is_replaced(const struct tenant *list, size_t count, size_t i)
{
	return i + 1 < count && list[i + 1].tid == list[i].tid &&
	       list[i + 1].serial != list[i].serial;
}

void tenants_find_dead(struct collector *c)
{
	size_t count;
	struct tenant *list = list_open(&c->streams, &count);
	uint64_t now = ticks_get_now(&c->clock);

	for (size_t i = 0; i < count; i++)
		if (is_replaced(list, count, i) || !watch_has_thread(&c->watch, list[i].tid))
			streams_mark_dead(&c->streams, list[i].slot, now);
	free(list);
}
