/* spread_report.c -- how much the recordings behind a merged profile differ, as text and as JSON.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/spread_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/whole.h"
#include "model/spread.h"
#include "report/human.h"
#include "report/names.h"

static const char *const titles[SPREAD_FIGURES] = {
	[SPREAD_PEAK] = "peak",	  [SPREAD_LEAKED] = "leaked",	  [SPREAD_ALLOCATED] = "allocated",
	[SPREAD_CALLS] = "calls", [SPREAD_RESIDENT] = "resident",
};

static struct human show(enum spread_figure f, double value)
{
	uint64_t whole = whole_get(value + 0.5);

	return f == SPREAD_CALLS ? human_count(whole) : human_bytes(whole);
}

/* "rank 3", or the file of one that is no rank; malloc'ed. */
static char *name_input(const struct profile *p, size_t input, const struct style *style)
{
	const struct profile_input *in = &p->inputs.at[input];

	if (in->rank)
		return mem_format("rank %" PRIu32, in->rank - 1);
	return names_escape(profile_string(p, in->name), style->utf8);
}

static void print_outlier(FILE *out, const struct profile *p, enum spread_figure f,
			  const struct style *style)
{
	struct spread s = spread_find(p, f);

	if (s.outlier == SPREAD_NONE)
		return;
	char *name = name_input(p, s.outlier, style);
	fprintf(out, "  ! %s stands out: %s %s, the others about %s\n", name, titles[f],
		show(f, (double)spread_get_value(&p->inputs.at[s.outlier], f)).text,
		show(f, (double)s.median).text);
	free(name);
}

void spread_report_print_outliers(FILE *out, const struct profile *p, const struct style *style)
{
	for (int f = 0; p->inputs.count > 1 && f < SPREAD_FIGURES; f++)
		print_outlier(out, p, (enum spread_figure)f, style);
}

static void print_row(FILE *out, const struct profile *p, enum spread_figure f,
		      const struct style *style)
{
	struct spread s = spread_find(p, f);
	char *least = name_input(p, s.least_input, style);
	char *most = name_input(p, s.most_input, style);

	fprintf(out, "  %-9s  %13s  %13s  %13s  %13s", titles[f], show(f, (double)s.least).text,
		show(f, (double)s.median).text, show(f, s.mean).text, show(f, (double)s.most).text);
	if (s.least != s.most)
		fprintf(out, "  least %s, most %s", least, most);
	fputc('\n', out);
	free(least);
	free(most);
}

void spread_report_print(FILE *out, const struct profile *p, const struct style *style)
{
	if (p->inputs.count < 2)
		return;
	fprintf(out, "\n%sSpread%s\n", style_ink(style, STYLE_TITLE),
		style_ink(style, STYLE_PLAIN));
	fprintf(out, "  %-9s  %13s  %13s  %13s  %13s\n", "", "least", "median", "mean", "most");
	for (int f = 0; f < SPREAD_FIGURES; f++)
		print_row(out, p, (enum spread_figure)f, style);
}

static void add_figure(struct json *j, const struct profile *p, enum spread_figure f)
{
	struct spread s = spread_find(p, f);

	json_begin_object(j, spread_get_name(f));
	json_add_uint(j, "min", s.least);
	json_add_uint(j, "median", s.median);
	json_add_real(j, "mean", s.mean);
	json_add_uint(j, "max", s.most);
	json_add_uint(j, "min_input", s.least_input);
	json_add_uint(j, "max_input", s.most_input);
	if (s.outlier == SPREAD_NONE)
		json_add_null(j, "outlier_input");
	else
		json_add_uint(j, "outlier_input", s.outlier);
	json_end_object(j);
}

void spread_report_add(struct json *j, const struct profile *p)
{
	if (p->inputs.count == 0)
		return;
	json_begin_object(j, "spread");
	for (int f = 0; f < SPREAD_FIGURES; f++)
		add_figure(j, p, (enum spread_figure)f);
	json_end_object(j);
}
