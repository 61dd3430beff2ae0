/* openmetrics.c -- how a recorded program stands, as OpenMetrics text. Runs: offline, pure; called
 * by the endpoint.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openmetrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/labels.h"
#include "model/flat.h"
#include "model/interval.h"

enum kind { GAUGE, COUNTER };

static const char *const kinds[] = {[GAUGE] = "gauge", [COUNTER] = "counter"};

/* One family of samples. A unit is the last part of its name. */
struct family {
	const char *name;
	const char *unit; /* "": none */
	enum kind kind;
	const char *help;
};

static void print_head(FILE *out, const struct family *f)
{
	fprintf(out, "# TYPE %s %s\n", f->name, kinds[f->kind]);
	if (*f->unit)
		fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(out, "# HELP %s %s\n", f->name, f->help);
}

static const char *get_suffix(const struct family *f)
{
	return f->kind == COUNTER ? "_total" : "";
}

/* A value between quotes: one line of UTF-8. */
static void print_label(FILE *out, const char *name, const char *value)
{
	char *clean = labels_clean(value, "");

	fprintf(out, "%s=\"", name);
	for (const char *c = clean; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
	free(clean);
}

/* ---- the program as a whole ------------------------------------------------------------------ */

static void print_target(FILE *out, const struct profile *p)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%" PRIu32, p->run.pid);
	fputs("# TYPE midden_target info\n"
	      "# HELP midden_target What is being recorded, and how.\n"
	      "midden_target_info{",
	      out);
	print_label(out, "program", profile_string(p, p->run.program));
	fputc(',', out);
	print_label(out, "pid", pid);
	fputc(',', out);
	print_label(out, "mode", profile_string(p, p->run.mode));
	fputc(',', out);
	print_label(out, "version", MIDDEN_VERSION);
	fputs("} 1\n", out);
}

static void print_totals(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;
	const struct profile_point *last =
		p->points.count ? &p->points.at[p->points.count - 1] : NULL;
	const struct {
		struct family family;
		uint64_t value;
	} rows[] = {
		{{"midden_live_bytes", "bytes", GAUGE, "Bytes in blocks that are not freed."},
		 t->leaked_bytes},
		{{"midden_live_blocks", "", GAUGE, "Blocks that are not freed."}, t->leaked_blocks},
		{{"midden_peak_bytes", "bytes", GAUGE, "The most that was live at one time."},
		 t->peak_bytes},
		{{"midden_resident_bytes", "bytes", GAUGE, "Resident size of the process."},
		 last ? last->rss_bytes : 0},
		{{"midden_resident_peak_bytes", "bytes", GAUGE, "The most that it ever was."},
		 t->rss_peak_bytes},
		{{"midden_stacks", "", GAUGE, "Different call stacks that have allocated."},
		 t->stacks},
		{{"midden_threads", "", COUNTER, "Threads that have allocated or freed."},
		 t->threads},
		{{"midden_allocations", "", COUNTER, "Calls that returned a block."},
		 t->allocations},
		{{"midden_allocated_bytes", "bytes", COUNTER, "Bytes that were asked for."},
		 t->allocated_bytes},
		{{"midden_frees", "", COUNTER, "Blocks that were freed."}, t->frees},
		{{"midden_freed_bytes", "bytes", COUNTER, "Bytes that were freed."},
		 t->freed_bytes},
		{{"midden_reallocations", "", COUNTER, "Calls of realloc with a block."},
		 t->reallocations},
		{{"midden_temporary_allocations", "", COUNTER,
		  "Blocks freed before their thread allocated anything else."},
		 t->temporary_allocations},
		{{"midden_failed_allocations", "", COUNTER, "Calls that returned no block."},
		 t->failed_allocations},
		{{"midden_sample_period_bytes", "bytes", GAUGE,
		  "Bytes for each block that is recorded; 0: all blocks are."},
		 p->run.sample_period},
		{{"midden_own_memory_bytes", "bytes", GAUGE,
		  "Memory that midden takes inside the process."},
		 t->own_memory_bytes},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_head(out, &rows[i].family);
		fprintf(out, "%s%s %" PRIu64 "\n", rows[i].family.name, get_suffix(&rows[i].family),
			rows[i].value);
	}
}

static void print_losses(FILE *out, const struct profile *p)
{
	static const struct family family = {"midden_losses", "", COUNTER,
					     "What could not be recorded as it should be."};
	const struct profile_totals *t = &p->totals;
	const struct {
		const char *kind;
		uint64_t count;
	} rows[] = {
		{"lost_events", t->lost_events},	 {"truncated_stacks", t->truncated_stacks},
		{"unwind_failures", t->unwind_failures}, {"foreign_frees", t->foreign_frees},
		{"reentrant_calls", t->reentrant_calls}, {"lost_snapshots", t->lost_snapshots},
	};

	print_head(out, &family);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "%s_total{kind=\"%s\"} %" PRIu64 "\n", family.name, rows[i].kind,
			rows[i].count);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* What tells the samples of a family apart, as it is printed. */
struct named {
	char *labels;
	struct amount live;
};

static char *make_labels(const struct model_frame *f, const char *name)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	print_label(out, "function", name);
	fputc(',', out);
	print_label(out, "file", f->file);
	fputc(',', out);
	print_label(out, "module", labels_base(f->module));
	(void)fclose(out);
	return text;
}

/* No two samples may have the same labels: functions that differ in no printed part are one. */
static size_t add_named(struct named *all, size_t count, char *labels, struct amount live)
{
	if (!labels)
		return count;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(all[i].labels, labels) != 0)
			continue;
		all[i].live = amount_plus(all[i].live, live);
		free(labels);
		return count;
	}
	all[count] = (struct named){labels, live};
	return count + 1;
}

static void print_family(FILE *out, const struct family *f, const struct named *all, size_t count)
{
	bool in_bytes = *f->unit != '\0';

	print_head(out, f);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s{%s} %" PRIu64 "\n", f->name, all[i].labels,
			in_bytes ? all[i].live.bytes : all[i].live.blocks);
}

/* Within what the estimates of a sampled program lie, with a confidence of 95 %. */
static void print_intervals(FILE *out, const struct profile *p, const struct named *all,
			    size_t count)
{
	static const struct family whole[] = {
		{"midden_live_low_bytes", "bytes", GAUGE, "Lower end for midden_live_bytes."},
		{"midden_live_high_bytes", "bytes", GAUGE, "Upper end for midden_live_bytes."}};
	static const struct family functions[] = {{"midden_function_live_low_bytes", "bytes", GAUGE,
						   "Lower end for midden_function_live_bytes."},
						  {"midden_function_live_high_bytes", "bytes",
						   GAUGE,
						   "Upper end for midden_function_live_bytes."}};
	struct interval live = interval_get_bytes(figure_get_total(p, FIGURE_LEAKED));

	for (unsigned high = 0; high < 2; high++) {
		print_head(out, &whole[high]);
		fprintf(out, "%s %" PRIu64 "\n", whole[high].name, high ? live.high : live.low);
		print_head(out, &functions[high]);
		for (size_t i = 0; i < count; i++) {
			struct interval within = interval_get_bytes(all[i].live);

			fprintf(out, "%s{%s} %" PRIu64 "\n", functions[high].name, all[i].labels,
				high ? within.high : within.low);
		}
	}
}

/* By the function that allocates, those first that hold the most; all add up to what is live. */
static void print_functions(FILE *out, const struct model *m)
{
	static const struct family bytes = {"midden_function_live_bytes", "bytes", GAUGE,
					    "Bytes not freed, by the function that allocated."};
	static const struct family blocks = {"midden_function_live_blocks", "", GAUGE,
					     "Blocks not freed, by the function that allocated."};
	static const struct model_frame nowhere = {.file = "", .module = ""};
	struct flat *flat = flat_build(m, FIGURE_LEAKED);
	struct labels *names = labels_new(m, "");
	struct named all[OPENMETRICS_FUNCTIONS + 1];
	struct amount rest = {0};
	size_t count = 0;

	for (size_t i = 0; i < flat->rows.count; i++) {
		const struct flat_row *row = &flat->rows.at[i];

		if (i < OPENMETRICS_FUNCTIONS && !amount_is_zero(row->self))
			count = add_named(all, count,
					  make_labels(model_get_frame(m, row->frame),
						      labels_get(names, row->frame)),
					  row->self);
		else
			rest = amount_plus(rest, row->self);
	}
	count = add_named(all, count, make_labels(&nowhere, "(others)"), rest);
	print_family(out, &bytes, all, count);
	print_family(out, &blocks, all, count);
	if (model_get_profile(m)->run.sample_period)
		print_intervals(out, model_get_profile(m), all, count);
	for (size_t i = 0; i < count; i++)
		free(all[i].labels);
	labels_free(names);
	flat_free(flat);
}

/* ---- the profiler ---------------------------------------------------------------------------- */

static void print_cost(FILE *out, const struct openmetrics_cost *cost)
{
	static const struct family cpu = {"midden_profiler_cpu_seconds", "seconds", COUNTER,
					  "Time that midden's own processes have used."};
	static const struct family size = {"midden_profiler_resident_bytes", "bytes", GAUGE,
					   "Resident size of midden's own processes."};

	print_head(out, &cpu);
	for (size_t i = 0; i < cost->count; i++)
		fprintf(out, "%s_total{process=\"%s\"} %" PRIu64 ".%03u\n", cpu.name,
			cost->processes[i].name, cost->processes[i].cpu_ns / UINT64_C(1000000000),
			(unsigned)(cost->processes[i].cpu_ns / 1000000 % 1000));
	print_head(out, &size);
	for (size_t i = 0; i < cost->count; i++)
		fprintf(out, "%s{process=\"%s\"} %" PRIu64 "\n", size.name, cost->processes[i].name,
			cost->processes[i].resident_bytes);
}

void openmetrics_print(FILE *out, const struct model *m, const struct openmetrics_cost *cost)
{
	const struct profile *p = model_get_profile(m);

	print_target(out, p);
	print_totals(out, p);
	print_functions(out, m);
	print_losses(out, p);
	print_cost(out, cost);
	fputs("# EOF\n", out);
}
