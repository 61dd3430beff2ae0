/* mallocprofiler.c -- the dump that MallocProfiler prints at the end of a program: a summary, two
 * histograms, and stacks with four figures each. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	_mpTrace_;root;...;leaf $calls$allocated bytes$live bytes$highest live bytes
 *
 * Differs from that tool's in one thing: bytes are integers, never 1.2e+07, which the readers of
 * such lines drop. The highest live bytes of stacks do not add up, so stacks are not merged. */
#include <inttypes.h>

#include "export/export.h"
#include "export/labels.h"

#define BINS 64u /* by bit length of the size, as in a profile */

static void write_summary(FILE *out, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	fprintf(out,
		"MemStat Global Summary for %" PRIu32 "/%" PRIu64 ": %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 "\n",
		p->run.pid, t->threads, t->allocations, t->allocated_bytes, t->leaked_bytes,
		t->peak_bytes);
}

static void write_histogram(FILE *out, const struct profile *p, bool live)
{
	fprintf(out, "Mem%s Global Hist for %" PRIu32 "/%" PRIu64 ": ", live ? "Live" : "Tot",
		p->run.pid, p->totals.threads);
	for (unsigned i = 0; i < BINS; i++)
		fprintf(out, "%" PRIu64 ",", live ? p->sizes[i].live_count : p->sizes[i].count);
	fputc('\n', out);
}

static void write_site(FILE *out, const struct profile_site *site, const struct labels *labels,
		       const struct model_stack *stack)
{
	fputs("_mpTrace_", out);
	for (size_t i = stack->frames.count; i-- > 0;) {
		fputc(';', out);
		fputs(labels_get(labels, stack->frames.at[i]), out);
	}
	fprintf(out, " $%" PRIu64 "$%" PRIu64 "$%" PRIu64 "$%" PRIu64 "\n", site->allocations,
		site->allocated_bytes, site->live_bytes, site->own_peak_bytes);
}

static int write_mallocprofiler(FILE *out, const struct export_request *r, struct error *e)
{
	const struct profile *p = model_get_profile(r->model);
	struct labels *labels = labels_new(r->model, ";:$_");
	struct model_stack stack = {0};

	(void)e;
	write_summary(out, p);
	write_histogram(out, p, false);
	write_histogram(out, p, true);
	for (size_t i = 0; i < p->sites.count; i++) {
		model_get_stack(r->model, i, &stack);
		write_site(out, &p->sites.at[i], labels, &stack);
	}
	vec_free(&stack.frames);
	labels_free(labels);
	return 0;
}

const struct export_format export_mallocprofiler = {
	.name = "mallocprofiler",
	.summary = "MallocProfiler's dump: each stack with $calls$allocated$live$highest",
	.suffix = ".mdr",
	.write = write_mallocprofiler,
};
