/* losses.c -- what a recording missed, in plain words. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/losses.h"

#include <stdlib.h>
#include <string.h>

#include "model/interval.h"
#include "model/nameless.h"
#include "report/human.h"
#include "report/names.h"

struct loss {
	const char *name;
	const char *meaning;
};

static const struct loss lost_events = {
	"lost events", "allocations or frees found no room in the buffers: the figures miss them"};
static const struct loss truncated_stacks = {
	"truncated stacks",
	"allocations whose stack was too deep or could not be followed: frames are missing"};
static const struct loss unwind_failures = {
	"unwind failures", "truncated stacks that ended at code without unwind data"};
static const struct loss foreign_frees = {
	"foreign frees",
	"of blocks made before the recording (before a fork, say), by another allocator, or "
	"freed twice"};
static const struct loss untracked_frees = {
	"untracked frees", "of blocks that were made while recording was stopped: in no figure"};
static const struct loss reentrant_calls = {
	"re-entrant calls",
	"from a signal handler inside an allocation: passed through, not recorded"};
static const struct loss trace_lost_events = {
	"events missing in the trace", "there was no room for them; the other figures have them"};
static const struct loss lost_snapshots = {"lost snapshots",
					   "there was no room to keep what was live then"};
static const struct loss further_threads = {
	"stacks of further threads",
	"there were too many to tell all apart: what --thread shows may be too little"};
static const struct loss children_not_recorded = {"child processes",
						  "started by the program and not recorded"};

static void print_line(FILE *out, const struct style *style, const char *text)
{
	fprintf(out, "%s  ! %s%s\n", style_ink(style, STYLE_WARNING), text,
		style_ink(style, STYLE_PLAIN));
}

static void print_count(FILE *out, const struct style *style, uint64_t count, struct loss loss)
{
	if (count)
		fprintf(out, "%s  ! %s: %s; %s%s\n", style_ink(style, STYLE_WARNING), loss.name,
			human_count(count).text, loss.meaning, style_ink(style, STYLE_PLAIN));
}

/* Stacks of which a share is nobody's. */
static uint64_t count_further(const struct profile *p)
{
	uint64_t count = 0;

	for (size_t i = 0; i < p->parts.count; i++)
		count += p->parts.at[i].thread == 0;
	return count;
}

static void print_damage(FILE *out, const struct profile *p, const struct style *style)
{
	char *damage = names_escape(p->damage, style->utf8);

	fprintf(out, "%s  ! the file is damaged, this is what could be read of it%s%s%s\n",
		style_ink(style, STYLE_WARNING), *damage ? ": " : "", damage,
		style_ink(style, STYLE_PLAIN));
	free(damage);
}

static void print_sampling(FILE *out, const struct profile *p, const struct style *style)
{
	bool all = p->run.sampled_blocks == PROFILE_SAMPLED_ALL;

	if (!p->run.sample_period)
		return;
	fprintf(out,
		"%s  ! %ssampled, one block in %s: figures%s are estimates with %d%% intervals; ",
		style_ink(style, STYLE_WARNING), all ? "" : "small objects of Python are ",
		human_bytes(p->run.sample_period).text, all ? "" : " with them", INTERVAL_PERCENT);
	fprintf(out, "stacks with less than %s%s may be missing%s\n",
		human_bytes(interval_get_limit(p)).text, all ? "" : " of them",
		style_ink(style, STYLE_PLAIN));
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void losses_print_nameless(FILE *out, const struct profile *p, const struct style *style)
{
	struct nameless found = {0};

	nameless_find(&found, p);
	for (size_t i = 0; i < found.modules.count; i++) {
		struct string_id path = p->modules.at[found.modules.at[i]].path;
		char *name = names_escape(base_of(profile_string(p, path)), style->utf8);

		fprintf(out, "%s%s", i ? ", " : style_ink(style, STYLE_WARNING),
			i ? "" : "  ! no names for most functions of ");
		fputs(name, out);
		free(name);
	}
	if (found.modules.count)
		fprintf(out,
			": debug symbols are missing; install them (on Debian, packages that end "
			"in -dbgsym) or set DEBUGINFOD_URLS, then run midden resolve%s\n",
			style_ink(style, STYLE_PLAIN));
	vec_free(&found.modules);
}

void losses_print(FILE *out, const struct profile *p, const struct style *style)
{
	print_sampling(out, p, style);
	if (p->damaged)
		print_damage(out, p, style);
	losses_print_counts(out, p, style);
}

void losses_print_counts(FILE *out, const struct profile *p, const struct style *style)
{
	const struct profile_totals *t = &p->totals;

	if (p->run.end == PROFILE_END_ABANDONED)
		print_line(
			out, style,
			"the recording ended before the program did: what came later is missing, "
			"and \"leaked\" means live at that moment");
	print_count(out, style, t->lost_events, lost_events);
	print_count(out, style, t->truncated_stacks, truncated_stacks);
	print_count(out, style, t->unwind_failures, unwind_failures);
	print_count(out, style, t->foreign_frees, foreign_frees);
	print_count(out, style, t->untracked_frees, untracked_frees);
	print_count(out, style, t->reentrant_calls, reentrant_calls);
	print_count(out, style, t->trace_lost_events, trace_lost_events);
	print_count(out, style, t->lost_snapshots, lost_snapshots);
	print_count(out, style, count_further(p), further_threads);
	print_count(out, style, p->run.children_not_recorded, children_not_recorded);
}
