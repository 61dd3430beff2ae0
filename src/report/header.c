/* header.c -- the run and its totals, as the first lines of every report. Runs: offline, called by
 * the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "report/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"
#include "report/human.h"
#include "report/losses.h"
#include "report/names.h"
#include "report/spread_report.h"
#include "report/wording.h"

/* What became of the program, with the words that lead over to the duration. */
static void print_end(FILE *out, const struct profile_run *run)
{
	switch (run->end) {
	case PROFILE_END_EXITED:
		fprintf(out, "exited with code %" PRId32 " after", run->exit_code);
		break;
	case PROFILE_END_SIGNALED:
		fprintf(out, "killed by signal %" PRId32 " (%s) after", run->exit_signal,
			strsignal(run->exit_signal));
		break;
	case PROFILE_END_EXEC:
		fputs("replaced itself by another program after", out);
		break;
	case PROFILE_END_ABANDONED:
		fputs("recorded for", out);
		break;
	default:
		fputs("ended in an unknown way after", out);
	}
}

/* The ends of the recordings that a profile is made of, each kind with its number. */
static void print_ends(FILE *out, const struct profile *p)
{
	static const char *const words[] = {
		"exited with code 0",	"exited with another code",
		"killed by a signal",	"replaced by another program",
		"recorded for a while", "ended in an unknown way",
	};
	enum { KINDS = sizeof(words) / sizeof(*words) };
	uint64_t counts[KINDS] = {0};
	const char *comma = "";

	for (size_t i = 0; i < p->inputs.count; i++) {
		const struct profile_input *in = &p->inputs.at[i];

		counts[in->end == PROFILE_END_EXITED	  ? in->exit_code != 0
		       : in->end == PROFILE_END_SIGNALED  ? 2
		       : in->end == PROFILE_END_EXEC	  ? 3
		       : in->end == PROFILE_END_ABANDONED ? 4
							  : 5]++;
	}
	for (unsigned i = 0; i < KINDS; i++) {
		if (!counts[i])
			continue;
		fprintf(out, "%s%s %s", comma, human_count(counts[i]).text, words[i]);
		comma = ", ";
	}
	fputs("; within", out);
}

static void print_run(FILE *out, const struct profile *p, const struct style *style)
{
	const struct profile_run *run = &p->run;
	char *program = names_escape(profile_string(p, run->program), style->utf8);
	char *command = names_escape(profile_string(p, run->command), style->utf8);
	char *mode = names_escape(profile_string(p, run->mode), style->utf8);

	fprintf(out, "%s%s%s  ", style_ink(style, STYLE_TITLE),
		*program ? program : "unknown program", style_ink(style, STYLE_PLAIN));
	wording_print_process(out, p);
	if (run->rank)
		fprintf(out, ", rank %" PRIu32, run->rank - 1);
	if (run->rank && run->ranks)
		fprintf(out, " of %" PRIu32, run->ranks);
	fprintf(out, "%s%s", *mode ? ", mode " : "", mode);
	if (run->small_objects == PROFILE_SMALL_SAMPLED && !figure_is_counted(p))
		fputs(" but for small objects of Python", out);
	fputc('\n', out);
	fprintf(out, "  command      %s\n  ", command);
	if (p->inputs.count > 1)
		print_ends(out, p);
	else
		print_end(out, run);
	fprintf(out, " %s, %s\n", human_duration(run->duration_ns).text,
		human_things(p->totals.threads, "thread").text);
	free(program);
	free(command);
	free(mode);
}

/* The same of what the program mapped itself. */
static void print_maps(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	fprintf(out, "  maps         %s (%s in all) from %s\n", human_count(t->allocations).text,
		human_bytes(t->allocated_bytes).text, human_things(t->stacks, "stack").text);
	if (t->reallocations)
		fprintf(out, "  remapped     %s of them\n", human_count(t->reallocations).text);
	if (t->failed_allocations)
		fprintf(out, "  failed       %s mapped nothing\n",
			human_things(t->failed_allocations, "call").text);
}

static void print_allocations(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	fprintf(out, "  allocations  %s", human_count(t->allocations).text);
	figures_print_blocks_interval(out, figure_get_total(p, FIGURE_CALLS));
	fprintf(out, " (%s in all) from %s\n", human_bytes(t->allocated_bytes).text,
		human_things(t->stacks, p->run.sample_period ? "seen stack" : "stack").text);
	if (t->reallocations)
		fprintf(out, "  reallocated  %s of them\n", human_count(t->reallocations).text);
	fprintf(out, "  temporary    %s", human_count(t->temporary_allocations).text);
	figures_print_blocks_interval(out, figure_get_total(p, FIGURE_TEMPORARY));
	/* An estimate may be more than all, which are counted. */
	uint64_t of_all = t->temporary_allocations < t->allocations ? t->temporary_allocations
								    : t->allocations;
	fprintf(out, " (%s of all)\n", human_share(of_all, t->allocations).text);
	if (t->failed_allocations)
		fprintf(out, "  failed       %s returned no memory\n",
			human_things(t->failed_allocations, "call").text);
}

/* Where there are counters and no events: all that they tell. */
static void print_counted(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	fprintf(out, "  allocations  %s (%s in all), %s\n", human_count(t->allocations).text,
		human_bytes(t->allocated_bytes).text, human_things(t->frees, "free").text);
	if (t->reallocations)
		fprintf(out, "  reallocated  %s of them\n", human_count(t->reallocations).text);
	if (t->failed_allocations)
		fprintf(out, "  failed       %s returned no memory\n",
			human_things(t->failed_allocations, "call").text);
	fputs("  counted      by tag: `midden tags` shows them; there are no stacks and no peak\n",
	      out);
}

/* The most that all recordings held together, as far as their common time line tells. */
static void print_together(FILE *out, const struct profile *p)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->points.count; i++)
		if (p->points.at[i].peak_bytes > most)
			most = p->points.at[i].peak_bytes;
	if (most && !p->damaged) /* or a time line may be missing */
		fprintf(out, "  together     at most %s at one time, by %s after the first start\n",
			human_bytes(most).text, human_duration(p->totals.peak_time_ns).text);
}

static bool is_of_several(const struct profile *p)
{
	return p->inputs.count > 1 && p->run.merge != PROFILE_MERGE_NONE &&
	       p->run.merge <= PROFILE_MERGE_MEAN;
}

/* Only one recording has a moment when it held most. */
static void print_peak(FILE *out, const struct profile *p)
{
	static const char *const ways[] = {
		[PROFILE_MERGE_SUM] = "the peaks of %s profiles added up",
		[PROFILE_MERGE_MAX] = "the most of each stack at any of %s peaks",
		[PROFILE_MERGE_MEAN] = "the mean of each stack over %s peaks",
	};
	const struct profile_totals *t = &p->totals;
	uint32_t way = p->run.merge;

	fputs("  peak         ", out);
	figures_print_amount(out, figure_get_total(p, FIGURE_PEAK), FIGURE_PEAK, FIGURES_PLAIN);
	fputs(", ", out);
	if (!is_of_several(p)) {
		fprintf(out, "%s after the start\n", human_duration(t->peak_time_ns).text);
		return;
	}
	fprintf(out, ways[way], human_count(p->inputs.count).text);
	fputc('\n', out);
	if (way == PROFILE_MERGE_SUM)
		print_together(out, p);
}

/* Small objects of Python, and what it maps to cut them out of. */
static void print_python(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;
	uint64_t used = t->small_peak_bytes;

	if (p->run.small_objects == PROFILE_SMALL_MALLOC)
		fputs("  python       has its small objects from malloc (PYTHONMALLOC)\n", out);
	if (p->run.small_objects == PROFILE_SMALL_UNSEEN)
		fputs("  python       runs without a lock: its small objects are in no figure\n",
		      out);
	if (!t->arena_peak_bytes)
		return;
	fprintf(out, "  python       %s for small objects at most",
		human_bytes(t->arena_peak_bytes).text);
	if (used)
		fprintf(out, ", which held %s", human_bytes(used).text);
	fprintf(out, "; %s at the end", human_bytes(t->arena_bytes).text);
	if (used)
		fprintf(out, " for %s", human_bytes(t->small_bytes).text);
	fputc('\n', out);
}

/* Of several recordings, no sum is what all had in memory at one time. */
static void print_resident(FILE *out, const struct profile *p)
{
	static const char *const ways[] = {
		[PROFILE_MERGE_NONE] = "at most",
		[PROFILE_MERGE_SUM] = "at most in each process, added up",
		[PROFILE_MERGE_MAX] = "at most in any process",
		[PROFILE_MERGE_MEAN] = "at most in each process, on average",
	};

	fprintf(out, "  resident     %s %s, midden's own part %s\n",
		human_bytes(p->totals.rss_peak_bytes).text,
		ways[is_of_several(p) ? p->run.merge : PROFILE_MERGE_NONE],
		human_bytes(p->totals.own_memory_bytes).text);
}

/* What the program did to its own recording. */
static void print_control(FILE *out, const struct profile *p)
{
	const struct profile_run *run = &p->run;

	if (run->cleared_ns)
		fprintf(out,
			"  cleared      %s after the start: figures count from there, what was "
			"live "
			"as allocated then%s\n",
			human_duration(run->cleared_ns).text,
			run->sample_period ? ", which is an estimate" : "");
	if (profile_has_never_begun(p))
		fputs("  stopped      all the time: recording never began, what it waited for did "
		      "not "
		      "come (--delayed, --start-at)\n",
		      out);
	else if (run->stopped_ns)
		fprintf(out, "  stopped      for %s: what was allocated then is in no figure\n",
			human_duration(run->stopped_ns).text);
}

/* What there was, at most and in the end. */
static void print_held(FILE *out, const struct profile *p)
{
	if (p->of_maps)
		print_maps(out, p);
	else
		print_allocations(out, p);
	print_peak(out, p);
	fputs(p->of_maps ? "  left mapped  " : "  leaked       ", out);
	figures_print_amount(out, figure_get_total(p, FIGURE_LEAKED), FIGURE_LEAKED, FIGURES_PLAIN);
	fputc('\n', out);
}

void header_print(FILE *out, const struct profile *p, const struct style *style)
{
	print_run(out, p, style);
	print_control(out, p);
	if (profile_is_by_tag(p))
		print_counted(out, p);
	else
		print_held(out, p);
	print_python(out, p);
	if (p->totals.rss_peak_bytes)
		print_resident(out, p);
	spread_report_print_outliers(out, p, style);
	losses_print(out, p, style);
	losses_print_nameless(out, p, style);
}
