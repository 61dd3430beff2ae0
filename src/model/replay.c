/* replay.c -- what was live at a moment, site by site: exactly from a trace, else as of the last
 * point of the time line. Runs: offline; called by reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/replay.h"

#include <stdlib.h>

#include "base/mem.h"
#include "profile/trace.h"

#define NO_POINT SIZE_MAX

static void sum_up(struct replay *r, const struct profile *p)
{
	r->whole = (struct amount){0};
	for (size_t i = 0; i < p->sites.count; i++)
		r->whole = amount_plus(r->whole, r->live[i]);
}

/* The last point at or before the time; NO_POINT if there is none. */
static size_t find_point(const struct profile *p, uint64_t time_ns)
{
	size_t low = 0, high = p->points.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->points.at[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : NO_POINT;
}

static void take_point(struct replay *r, const struct profile *p, size_t point)
{
	r->live = mem_new(p->sites.count, sizeof(*r->live));
	r->time_ns = point == NO_POINT ? 0 : p->points.at[point].time_ns;
	for (size_t i = 0; point != NO_POINT && i < p->changes.count; i++) {
		const struct profile_change *c = &p->changes.at[i];

		if (c->point > point)
			break;
		r->live[c->site] =
			(struct amount){.bytes = c->live_bytes, .blocks = c->live_blocks};
	}
}

void replay_init_at_point(struct replay *r, const struct profile *p, size_t point)
{
	*r = (struct replay){.exact = true};
	take_point(r, p, point);
	sum_up(r, p);
}

static void apply(struct replay *r, const struct trace_event *e)
{
	struct amount *live = &r->live[e->site];
	const struct amount block = {.bytes = e->size, .blocks = 1};

	*live = trace_is_arrival(e) ? amount_plus(*live, block) : amount_minus(*live, block);
}

/* True if the trace goes far enough: all events up to the time are in it. */
static bool apply_trace(struct replay *r, struct trace_cursor *c, uint64_t time_ns)
{
	const struct trace_event *e;

	while ((e = trace_cursor_next(c))) {
		if (e->time_ns > time_ns)
			return true;
		apply(r, e);
		r->time_ns = e->time_ns;
	}
	return false;
}

int replay_init(struct replay *r, const struct profile *p, uint64_t time_ns, struct error *e)
{
	size_t point = find_point(p, time_ns);
	uint64_t from = point == NO_POINT ? 0 : p->points.at[point].events;
	uint64_t count = trace_get_count(p);

	*r = (struct replay){0};
	take_point(r, p, point);
	r->exact = point != NO_POINT && p->points.at[point].time_ns == time_ns;
	if (count && from <= count) {
		struct trace_cursor *c = trace_cursor_new(p);

		trace_cursor_seek(c, from);
		bool ended = !apply_trace(r, c, time_ns);
		int result = trace_cursor_check(c, e);
		trace_cursor_free(c);
		if (result) {
			replay_fini(r);
			return -1;
		}
		r->exact = !ended || p->totals.trace_lost_events == 0;
	}
	if (r->exact)
		r->time_ns = time_ns;
	sum_up(r, p);
	return 0;
}

void replay_fini(struct replay *r)
{
	free(r->live);
	r->live = NULL;
}
