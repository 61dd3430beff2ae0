/* stats_text.c -- totals, sizes and threads as tables. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/stats_text.h"

#include <inttypes.h>
#include <string.h>

#include "report/header.h"
#include "report/histogram.h"
#include "report/human.h"
#include "report/map_text.h"
#include "report/names.h"
#include "report/spread_report.h"
#include "report/stack_report.h"
#include "report/wording.h"

#define THREADS_SHOWN 20u
#define INPUTS_SHOWN  64u

static void print_title(FILE *out, const struct style *style, const char *title)
{
	fprintf(out, "\n%s%s%s\n", style_ink(style, STYLE_TITLE), title,
		style_ink(style, STYLE_PLAIN));
}

struct thread_row {
	const struct profile_thread *thread;
};

static int compare_rows(const void *left, const void *right)
{
	const struct profile_thread *a = ((const struct thread_row *)left)->thread;
	const struct profile_thread *b = ((const struct thread_row *)right)->thread;

	if (a->allocated_bytes != b->allocated_bytes)
		return a->allocated_bytes > b->allocated_bytes ? -1 : 1;
	return (a->serial > b->serial) - (a->serial < b->serial);
}

/* What cannot be told by counters alone. */
static void print_held(FILE *out, const struct profile_thread *t)
{
	fprintf(out, "  %9s  %9s  %9s  %13s", human_bytes(t->own_peak_bytes).text,
		human_bytes(t->at_peak_bytes).text, human_bytes(t->live_bytes).text,
		human_count(t->temporary).text);
}

static void print_columns(FILE *out, const struct profile *p)
{
	fprintf(out, "  %7s  %13s  %9s  %13s", "tid", "allocations", "bytes", "frees");
	if (!profile_is_by_tag(p))
		fprintf(out, "  %9s  %9s  %9s  %13s", "own peak", "at peak", "leaked", "temporary");
	fputs("  name\n", out);
}

static void print_thread(FILE *out, const struct profile *p, const struct profile_thread *t,
			 const struct style *style)
{
	char *name = names_escape(profile_string(p, t->name), style->utf8);
	char *input = names_escape(wording_get_input(p, t), style->utf8);

	fprintf(out, "  %7" PRIu32 "  %13s  %9s", t->tid, human_count(t->allocations).text,
		human_bytes(t->allocated_bytes).text);
	fprintf(out, "  %13s", human_count(t->frees).text);
	if (!profile_is_by_tag(p))
		print_held(out, t);
	fprintf(out, "  %s%s%s\n", name, *input ? " of " : "", input);
	free(name);
	free(input);
}

static void print_more_threads(FILE *out, const struct thread_row *rows, size_t count)
{
	uint64_t allocations = 0, bytes = 0;

	if (count <= THREADS_SHOWN)
		return;
	for (size_t i = THREADS_SHOWN; i < count; i++) {
		allocations += rows[i].thread->allocations;
		bytes += rows[i].thread->allocated_bytes;
	}
	fprintf(out, "  ... %s more %s: %s, %s\n", human_count(count - THREADS_SHOWN).text,
		count - THREADS_SHOWN == 1 ? "thread" : "threads",
		human_things(allocations, "allocation").text, human_bytes(bytes).text);
}

static void print_threads(FILE *out, const struct profile *p, const struct style *style)
{
	size_t count = p->threads.count;
	struct thread_row *rows = mem_new(count, sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		rows[i].thread = &p->threads.at[i];
	qsort(rows, count, sizeof(*rows), compare_rows);
	if (count) {
		print_title(out, style, "Threads");
		print_columns(out, p);
	}
	for (size_t i = 0; i < count && i < THREADS_SHOWN; i++)
		print_thread(out, p, rows[i].thread, style);
	print_more_threads(out, rows, count);
	free(rows);
}

/* ---- inputs of a merged profile -------------------------------------------------------------- */

static const struct profile_input *find_largest(const struct profile *p)
{
	const struct profile_input *largest = p->inputs.at;

	for (size_t i = 1; i < p->inputs.count; i++)
		if (p->inputs.at[i].totals.peak_bytes > largest->totals.peak_bytes)
			largest = &p->inputs.at[i];
	return largest;
}

static void print_input(FILE *out, const struct profile *p, const struct profile_input *in,
			const struct style *style)
{
	char *name = names_escape(profile_string(p, in->name), style->utf8);
	char *host = names_escape(profile_string(p, in->host), style->utf8);

	fprintf(out, "  %7" PRIu32 "  %13s  %9s", in->pid, human_count(in->totals.allocations).text,
		human_bytes(in->totals.allocated_bytes).text);
	fprintf(out, "  %9s  %9s", human_bytes(in->totals.peak_bytes).text,
		human_bytes(in->totals.leaked_bytes).text);
	fprintf(out, "  %12s  %s%s%s", human_duration(in->duration_ns).text, name,
		*host ? " on " : "", host);
	if (in->rank)
		fprintf(out, ", rank %" PRIu32, in->rank - 1);
	fputc('\n', out);
	free(name);
	free(host);
}

static void print_inputs(FILE *out, const struct profile *p, const struct style *style)
{
	if (p->inputs.count == 0)
		return;
	print_title(out, style, "Inputs");
	fprintf(out, "  %7s  %13s  %9s  %9s  %9s  %12s  file\n", "pid", "allocations", "bytes",
		"peak", "leaked", "duration");
	for (size_t i = 0; i < p->inputs.count && i < INPUTS_SHOWN; i++)
		print_input(out, p, &p->inputs.at[i], style);
	if (p->inputs.count > INPUTS_SHOWN) {
		fprintf(out, "  ... %s more; the one with the largest peak:\n",
			human_count(p->inputs.count - INPUTS_SHOWN).text);
		print_input(out, p, find_largest(p), style);
	}
	spread_report_print(out, p, style);
}

void stats_text_print(FILE *out, const struct profile *p, const struct style *style)
{
	header_print(out, p, style);
	print_inputs(out, p, style);
	if (p->totals.allocations)
		fputc('\n', out);
	histogram_print_sizes(out, p, style);
	print_threads(out, p, style);
	stack_report_print(out, p, style);
	map_text_print(out, p, style);
}
