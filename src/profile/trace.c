/* trace.c -- the complete log of events in a profile, for reading. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/wire.h"
#include "profile/trace_store.h"

struct trace_cursor {
	const struct profile *p;
	uint64_t *firsts; /* number of the first event of each block, and of all */
	struct trace_rows rows;
	size_t block; /* that `rows` holds, if it is loaded */
	size_t at;    /* of the next event in it */
	bool loaded;
	uint64_t before_ns; /* time of the event before */
	const char *fault;
	uint64_t fault_at; /* number of the event or the block's first */
};

bool trace_is_arrival(const struct trace_event *e)
{
	return e->kind == WIRE_EVENT_ALLOCATION || e->kind == WIRE_EVENT_RESIZE_ALLOCATION;
}

/* Blocks that are both in the index and in the file. */
static size_t get_blocks(const struct profile *p)
{
	size_t stored = p->trace ? p->trace->places.count : 0;

	return stored < p->blocks.count ? stored : p->blocks.count;
}

uint64_t trace_get_count(const struct profile *p)
{
	uint64_t count = 0;

	for (size_t i = 0; i < get_blocks(p); i++)
		count += p->blocks.at[i].events;
	return count;
}

struct trace_cursor *trace_cursor_new(const struct profile *p)
{
	struct trace_cursor *c = mem_new(1, sizeof(*c));
	size_t blocks = get_blocks(p);

	c->p = p;
	c->firsts = mem_new(blocks + 1, sizeof(c->firsts[0]));
	for (size_t i = 0; i < blocks; i++)
		c->firsts[i + 1] = c->firsts[i] + p->blocks.at[i].events;
	return c;
}

void trace_cursor_free(struct trace_cursor *c)
{
	if (!c)
		return;
	trace_store_free_rows(&c->rows);
	free(c->firsts);
	free(c);
}

static void note_fault(struct trace_cursor *c, const char *fault, uint64_t at)
{
	c->fault = fault;
	c->fault_at = at;
}

static uint64_t to_ns(const struct profile *p, uint64_t ticks)
{
	if (!p->run.clock_ticks)
		return ticks;
	return (uint64_t)((unsigned __int128)ticks * p->run.clock_ns / p->run.clock_ticks);
}

/* The block must be what the index says of it. */
static void load(struct trace_cursor *c, size_t block)
{
	const char *why = trace_store_read(c->p->trace, block, &c->rows);

	if (!why && (c->rows.first != c->firsts[block] ||
		     c->rows.events.count != c->p->blocks.at[block].events ||
		     c->rows.events.at[0].time_ns != c->p->blocks.at[block].ticks))
		why = "is not what the index says";
	if (why)
		note_fault(c, why, c->firsts[block]);
	for (size_t i = 0; !why && i < c->rows.events.count; i++)
		c->rows.events.at[i].time_ns = to_ns(c->p, c->rows.events.at[i].time_ns);
	c->block = block;
	c->loaded = !why;
}

static const char *find_fault(const struct trace_cursor *c, const struct trace_event *e)
{
	if (e->kind == 0 || e->kind >= WIRE_EVENT_KINDS)
		return "has an event of an unknown kind";
	if (e->site >= c->p->sites.count)
		return "has an event of a site that is not defined";
	return e->time_ns < c->before_ns ? "goes back in time" : NULL;
}

const struct trace_event *trace_cursor_next(struct trace_cursor *c)
{
	size_t blocks = get_blocks(c->p);

	while (!c->fault && c->block < blocks) {
		if (!c->loaded) {
			load(c, c->block);
			continue;
		}
		if (c->at < c->rows.events.count) {
			const struct trace_event *e = &c->rows.events.at[c->at];
			const char *why = find_fault(c, e);

			if (why) {
				note_fault(c, why, c->firsts[c->block] + c->at);
				return NULL;
			}
			c->before_ns = e->time_ns;
			c->at++;
			return e;
		}
		c->block++;
		c->at = 0;
		c->loaded = false;
	}
	return NULL;
}

static void enter(struct trace_cursor *c, size_t block)
{
	if (block != c->block)
		c->loaded = false;
	c->block = block;
	c->at = 0;
	c->before_ns = 0;
}

void trace_cursor_seek(struct trace_cursor *c, uint64_t number)
{
	size_t low = 0, high = get_blocks(c->p);

	while (low < high) { /* the first block that ends after it */
		size_t middle = low + (high - low) / 2;

		if (c->firsts[middle + 1] <= number)
			low = middle + 1;
		else
			high = middle;
	}
	enter(c, low);
	if (low < get_blocks(c->p))
		c->at = (size_t)(number - c->firsts[low]);
}

void trace_cursor_seek_time(struct trace_cursor *c, uint64_t time_ns)
{
	size_t low = 0, high = get_blocks(c->p);
	const struct trace_event *e;

	while (low < high) { /* the first block that begins at or after it */
		size_t middle = low + (high - low) / 2;

		if (to_ns(c->p, c->p->blocks.at[middle].ticks) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	enter(c, low ? low - 1 : 0);
	while ((e = trace_cursor_next(c)))
		if (e->time_ns >= time_ns) {
			c->at--;
			return;
		}
}

int trace_cursor_check(const struct trace_cursor *c, struct error *e)
{
	if (!c->fault)
		return 0;
	return error_set(e, "trace, event %" PRIu64 ": %s", c->fault_at, c->fault);
}
