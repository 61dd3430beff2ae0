/* recording_report.c -- what a collector tells the recorder.
 * Runs: in a collector process; recording_report_take in the recorder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/pipes.h"
#include "model/interval.h"

void recording_report_send(int out, const struct recording_report *report)
{
	if (out >= 0)
		(void)pipes_write(out, report, sizeof(*report));
}

bool recording_report_take(int in, struct recording_report *report)
{
	return pipes_read(in, report, sizeof(*report));
}

static void add_up_lost(struct recording_report *r, const struct profile *p)
{
	r->tells_lost = p->run.lost_flags != 0;
	for (size_t i = 0; i < p->lost.count; i++) {
		const struct profile_lost *row = &p->lost.at[i];

		if (row->class != PROFILE_LOST_DEFINITE && row->class != PROFILE_LOST_INDIRECT)
			continue;
		r->lost_bytes += row->bytes;
		r->lost_blocks += row->blocks;
	}
}

static void add_intervals(struct recording_report *r, const struct profile *p)
{
	struct interval peak = interval_get_bytes(figure_get_total(p, FIGURE_PEAK));
	struct interval leaked = interval_get_bytes(figure_get_total(p, FIGURE_LEAKED));

	r->peak_low_bytes = peak.low;
	r->peak_high_bytes = peak.high;
	r->leaked_low_bytes = leaked.low;
	r->leaked_high_bytes = leaked.high;
}

void recording_report_fill(struct recording_report *r, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	r->end = p->run.end;
	r->exit_signal = p->run.exit_signal;
	r->by_tag = strcmp(profile_string(p, p->run.mode), "tags") == 0;
	r->status.allocations = t->allocations;
	r->status.frees = t->frees;
	r->allocated_bytes = t->allocated_bytes;
	r->leaked_bytes = t->leaked_bytes;
	r->leaked_blocks = t->leaked_blocks;
	r->peak_blocks = t->peak_blocks;
	/* Not foreign frees: in a fork child they are the parent's blocks, elsewhere the report
	 * says. */
	r->losses = t->lost_events + t->truncated_stacks + t->reentrant_calls;
	r->duration_ns = p->run.duration_ns;
	r->children = p->run.children_not_recorded;
	r->snapshots = p->snapshots.count;
	r->has_surveys = p->surveys.count != 0;
	r->has_maps = p->map_totals.allocations != 0;
	add_intervals(r, p);
	add_up_lost(r, p);
}

/* A program that became another one, or that goes on, is told of anyway. */
static bool has_ended(const struct recording_report *r)
{
	return r->end != PROFILE_END_EXEC && r->end != PROFILE_END_ABANDONED;
}

void recording_report_explain_lost(struct recording_report *r, const char *fault, bool wanted)
{
	if (!*fault && wanted && !r->tells_lost && has_ended(r))
		fault = r->end == PROFILE_END_SIGNALED
				? "the program was killed"
				: "the program did not end by exit() of glibc";
	(void)snprintf(r->lost_fault, sizeof(r->lost_fault), "%s", fault);
}

bool recording_report_has_nothing(const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	return t->allocations == 0 && t->frees == 0 && t->failed_allocations == 0 &&
	       t->foreign_frees == 0 && t->lost_events == 0 && t->reentrant_calls == 0 &&
	       p->map_totals.allocations == 0 && p->snapshots.count == 0 && p->tags.count == 0 &&
	       p->run.end != PROFILE_END_SIGNALED;
}
