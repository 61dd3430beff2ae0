/* tenants.c -- the target's threads as they look from outside: which have died, what they are
 * called. Runs: in the collector process, one thread, a few times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/tenants.h"

#include <stdlib.h>

#include "base/mem.h"

/* ---- threads that died without a word -------------------------------------------------------- */

struct tenant {
	uint32_t tid;
	uint32_t serial;
	uint32_t slot;
};

static int compare_tenants(const void *a, const void *b)
{
	const struct tenant *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->serial > y->serial) - (x->serial < y->serial);
}

/* The open slots by thread id, for one id the oldest thread first. The caller frees. */
static struct tenant *list_tenants(const struct streams *s, size_t *count)
{
	struct tenant *list = mem_new(s->open + 1, sizeof(*list));

	*count = 0;
	for (uint32_t slot = 1; slot <= s->used; slot++)
		if (s->at[slot].state == STREAM_OPEN)
			list[(*count)++] =
				(struct tenant){s->at[slot].tid, s->at[slot].serial, slot};
	qsort(list, *count, sizeof(*list), compare_tenants);
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
	struct tenant *list = list_tenants(&c->streams, &count);
	uint64_t now = ticks_get_now(&c->clock);

	for (size_t i = 0; i < count; i++)
		if (is_replaced(list, count, i) || !watch_has_thread(&c->watch, list[i].tid))
			streams_mark_dead(&c->streams, list[i].slot, now);
	free(list);
}

/* ---- what threads are called ----------------------------------------------------------------- */

static void look_at_name(struct collector *c, uint32_t slot)
{
	const struct stream *stream = &c->streams.at[slot];
	struct thread *thread = &c->account.threads.list.at[c->account.actors[slot].thread];

	if (thread->shared)
		return;
	if (streams_has_last_name(&c->streams, slot))
		streams_read_name(&c->streams, slot, thread->name);
	else if (collector_is_main_thread(c, stream))
		(void)watch_read_main_name(&c->watch, thread->name, sizeof(thread->name));
	else
		(void)watch_read_name(&c->watch, stream->tid, thread->name, sizeof(thread->name));
}

/* A thread says what it is called when it begins and when it ends, but many get their name in
 * between and end with the program. Most get it early: we look ever more rarely. After an exec the
 * name is another program's. */
void tenants_look_at_names(struct collector *c)
{
	for (uint32_t slot = 1; slot <= c->streams.used; slot++) {
		struct stream *stream = &c->streams.at[slot];

		if (stream->state != STREAM_OPEN || collect_has_execed(c))
			continue;
		stream->looks++;
		if (collector_is_main_thread(c, stream) ||
		    (stream->looks & (stream->looks - 1)) == 0)
			look_at_name(c, slot);
	}
}

void tenants_look_at_last_name(struct collector *c)
{
	for (uint32_t slot = 1; slot <= c->streams.used; slot++)
		if (c->streams.at[slot].state == STREAM_OPEN &&
		    collector_is_main_thread(c, &c->streams.at[slot]) && !collect_has_execed(c))
			look_at_name(c, slot);
}
