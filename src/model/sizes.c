/* sizes.c -- what blocks of certain sizes come to, stack by stack. Runs: offline; called by
 * answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/sizes.h"

#include "profile/trace.h"

/* Where the reading of a trace ends. */
struct stop {
	uint64_t events;  /* behind so many */
	uint64_t time_ns; /* behind this time */
	bool at_peak;	  /* where all that is live is the most that ever was */
};

static const struct stop at_end = {UINT64_MAX, UINT64_MAX, false};

static struct stop find_stop(const struct profile *p, enum figure figure, const struct moment *at)
{
	struct stop stop = at_end;

	if (figure == FIGURE_PEAK || (figure == FIGURE_LIVE && at->kind == MOMENT_PEAK))
		stop.at_peak = true;
	else if (figure != FIGURE_LIVE)
		return stop;
	else if (at->kind == MOMENT_START)
		stop.events = 0;
	else if (at->kind == MOMENT_POINT)
		stop.events = p->points.at[at->point].events;
	else
		stop.time_ns = at->time_ns;
	return stop;
}

/* Counts the blocks of the right sizes: those that came or, with `live`, those that are there. */
static void count(const struct filter *f, const struct trace_event *e, bool live,
		  struct amount *amounts)
{
	const struct amount block = {.bytes = e->size, .blocks = 1};
	struct amount *a = &amounts[e->site];

	if (!filter_has_size(f, e->size))
		return;
	if (trace_is_arrival(e))
		*a = amount_plus(*a, block);
	else if (live)
		*a = amount_minus(*a, block);
}

static bool is_reached(const struct stop *stop, const struct profile *p, uint64_t whole)
{
	return stop->at_peak && whole == p->totals.peak_bytes;
}

bool sizes_fill(const struct profile *p, const struct filter *f, enum figure figure,
		const struct moment *at, struct amount *amounts)
{
	bool live = figure == FIGURE_PEAK || figure == FIGURE_LEAKED || figure == FIGURE_LIVE;
	struct stop stop = find_stop(p, figure, at);
	struct error ignored = {0};
	uint64_t whole = 0;

	if ((!live && figure != FIGURE_ALLOCATED && figure != FIGURE_CALLS) ||
	    trace_get_count(p) == 0 || p->totals.trace_lost_events)
		return false;
	struct trace_cursor *c = trace_cursor_new(p);
	const struct trace_event *e;
	for (uint64_t i = 0; i < stop.events && !is_reached(&stop, p, whole); i++) {
		e = trace_cursor_next(c);
		if (!e || e->time_ns > stop.time_ns)
			break;
		whole += trace_is_arrival(e) ? e->size : -e->size;
		count(f, e, live, amounts);
	}
	bool good = trace_cursor_check(c, &ignored) == 0 &&
		    (!stop.at_peak || whole == p->totals.peak_bytes);
	trace_cursor_free(c);
	return good;
}

enum filter_verdict sizes_judge(const struct filter *f, const struct profile_site *site,
				struct amount a)
{
	uint64_t least = site->size_min, most = site->size_max;

	if (a.blocks == 0 || least > most)
		return FILTER_VERDICTS;
	/* What the other blocks have at the most and at the least bounds the one. */
	unsigned __int128 others = a.blocks - 1;
	if (others * most < a.bytes && a.bytes - others * most > least)
		least = (uint64_t)(a.bytes - others * most);
	if (others * site->size_min < a.bytes && a.bytes - others * site->size_min < most)
		most = (uint64_t)(a.bytes - others * site->size_min);
	if (filter_has_size(f, least) && filter_has_size(f, most))
		return FILTER_KEPT;
	return most < f->size_min || (f->has_size_max && least > f->size_max) ? FILTER_SIZE
									      : FILTER_VERDICTS;
}
