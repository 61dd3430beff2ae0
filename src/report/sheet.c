/* sheet.c -- a whole report as text: what was recorded, what was asked, and the answer in the shape
 * wanted. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include "model/findings.h"
#include "model/lifetime.h"
#include "model/snapshots.h"
#include "model/timeline.h"
#include "report/answer_text.h"
#include "report/chart.h"
#include "report/deepest_report.h"
#include "report/findings_report.h"
#include "report/flat_text.h"
#include "report/globals_report.h"
#include "report/header.h"
#include "report/histogram.h"
#include "report/lifetime_report.h"
#include "report/rss_report.h"
#include "report/snapshots_text.h"
#include "report/thread_report.h"
#include "report/types_report.h"
#include "report/tree_text.h"

static const struct filter everything;

struct printer {
	FILE *out;
	const struct model *model;
	const struct sheet *sheet;
	const struct style *style;
};

static const struct filter *filter_of(const struct sheet *s)
{
	return s->view.filter ? s->view.filter : &everything;
}

static void print_tree(const struct printer *p, const struct amount *amounts,
		       enum figures_sign sign)
{
	struct tree *t = tree_build_of(p->model, &p->sheet->tree, amounts);

	if (t->nodes.at[0].child_count)
		tree_text_print_body(p->out, t, sign, p->style);
	tree_free(t);
}

static void print_flat(const struct printer *p, const struct amount *amounts,
		       enum figures_sign sign)
{
	const struct sheet *s = p->sheet;
	struct flat *f = flat_build_of(p->model, s->view.figure, s->key, amounts);
	const struct flat_text_options options = {s->tree.threshold, s->limit, sign};

	if (f->rows.count)
		flat_text_print_body(p->out, f, &options, p->style);
	flat_free(f);
}

static void print_shape(const struct printer *p, const struct amount *amounts,
			enum figures_sign sign)
{
	if (p->sheet->shape == SHEET_FLAT)
		print_flat(p, amounts, sign);
	else
		print_tree(p, amounts, sign);
}

static bool has_any(const struct amount *amounts, size_t count)
{
	size_t i = 0;

	while (i < count && amount_is_zero(amounts[i]))
		i++;
	return i < count;
}

static void print_halves(const struct printer *p, const struct answer *a)
{
	size_t count = model_get_profile(p->model)->sites.count;

	if (has_any(a->amounts, count)) {
		fputs("\nWhat grew\n", p->out);
		print_shape(p, a->amounts, FIGURES_GROWN);
	}
	if (has_any(a->shrunk, count)) {
		fputs("\nWhat shrank\n", p->out);
		print_shape(p, a->shrunk, FIGURES_SHRUNK);
	}
}

/* Leaks that rules name are no findings, whatever the report is about. Rules are looked at only if
 * it matters: most programs have no leak that grows. */
static struct findings *find_some(const struct printer *p)
{
	struct findings *f = findings_build(p->model, NULL);
	struct view view = p->sheet->view;

	if (!f->list.count || f->list.at[0].kind != FINDING_GROWING_LEAK)
		return f;
	findings_free(f);
	view.figure = FIGURE_LEAKED;
	struct answer *a = answer_new(p->model, &view);
	f = findings_build(p->model, a->verdicts);
	answer_free(a);
	return f;
}

static void print_few_findings(const struct printer *p)
{
	struct findings *f = find_some(p);

	if (f->list.count) {
		fputc('\n', p->out);
		findings_report_print_short(p->out, p->model, f, p->style);
	}
	findings_free(f);
}

static void print_findings_of(const struct printer *p, const uint8_t *verdicts)
{
	struct findings *f = findings_build(p->model, verdicts);

	findings_report_print(p->out, p->model, f, p->style);
	findings_free(f);
}

static void print_answer(const struct printer *p)
{
	struct answer *a = answer_new(p->model, &p->sheet->view);

	answer_text_print_left_out(p->out, a, p->style);
	fputc('\n', p->out);
	if (!amount_is_zero(a->whole) || a->parts[FILTER_KEPT].sites)
		answer_text_print_title(p->out, a, p->style);
	if (answer_text_is_empty(a))
		answer_text_print_empty(p->out, a);
	else if (a->shrunk)
		print_halves(p, a);
	else
		print_shape(p, a->amounts, FIGURES_PLAIN);
	if (p->sheet->findings)
		print_few_findings(p);
	answer_free(a);
}

static void print_deltas(const struct printer *p)
{
	const struct profile *profile = model_get_profile(p->model);

	for (size_t i = 1; i < profile->snapshots.count; i++) {
		struct sheet sheet = *p->sheet;
		const struct printer one = {p->out, p->model, &sheet, p->style};

		sheet.view.from = snapshots_get_moment(profile, i - 1);
		sheet.view.at = snapshots_get_moment(profile, i);
		print_answer(&one);
	}
}

static void print_snapshots(const struct printer *p)
{
	fputc('\n', p->out);
	snapshots_text_print(p->out, model_get_profile(p->model), p->style);
}

static void print_threads(const struct printer *p)
{
	const struct profile *profile = model_get_profile(p->model);
	const struct sheet *s = p->sheet;
	struct by_thread threads;

	uint8_t *verdicts = filter_asks_for_stacks(filter_of(s))
				    ? filter_judge(s->view.filter, p->model)
				    : NULL;
	by_thread_build(&threads, profile, s->view.figure, s->view.filter, verdicts);
	free(verdicts);
	struct thread_report r = {profile, &threads, s->view.figure, s->tree.threshold, s->limit};
	fputc('\n', p->out);
	thread_report_print(p->out, &r, p->style);
	vec_free(&threads.rows);
}

static void print_globals(const struct printer *p)
{
	const struct globals_report r = {model_get_profile(p->model), p->sheet->tree.threshold,
					 p->sheet->limit};

	fputc('\n', p->out);
	globals_report_print(p->out, &r, p->style);
}

static void print_stacks(const struct printer *p)
{
	struct deepest deepest = {0};
	const struct deepest_report r = {p->model, &deepest, p->sheet->limit};

	deepest_build(&deepest, p->model, p->sheet->tree.fold);
	fputc('\n', p->out);
	deepest_report_print(p->out, &r, p->style);
	deepest_fini(&deepest);
}

static void print_types(const struct printer *p)
{
	const struct types_report r = {model_get_profile(p->model), p->sheet->survey,
				       p->sheet->tree.threshold, p->sheet->limit};

	fputc('\n', p->out);
	types_report_print(p->out, &r, p->style);
}

static void print_rss(const struct printer *p, const uint8_t *verdicts)
{
	const struct sheet *s = p->sheet;
	struct pinning *n = pinning_build(p->model, s->survey, s->key, verdicts);
	const struct rss_report r = {n, s->tree.threshold, s->limit};

	rss_report_print(p->out, &r, p->style);
	if (n->whole.held.resident_bytes) {
		struct amount *amounts = pinning_list_amounts(n);

		fputs("\nCall stacks by what they keep resident\n", p->out);
		print_tree(p, amounts, FIGURES_PLAIN);
		free(amounts);
	}
	pinning_free(n);
}

/* What needs the verdicts of the filter and nothing else of an answer. What it leaves out is told
 * by what those stacks allocated. */
static void print_filtered(const struct printer *p)
{
	const struct sheet *s = p->sheet;
	const struct profile *profile = model_get_profile(p->model);
	struct view view = s->view;

	view.whole_stacks = true;
	if (s->shape != SHEET_FINDINGS)
		view.figure = FIGURE_ALLOCATED;
	struct answer *a = answer_new(p->model, &view);
	answer_text_print_left_out(p->out, a, p->style);
	fputc('\n', p->out);
	if (s->shape == SHEET_FINDINGS) {
		print_findings_of(p, a->verdicts);
	} else if (s->shape == SHEET_RSS) {
		print_rss(p, filter_is_empty(filter_of(s)) ? NULL : a->verdicts);
	} else if (s->shape == SHEET_LIFETIME) {
		struct lifetimes *l =
			lifetime_build(p->model, s->key, a->verdicts, s->shortest_first);
		lifetime_report_print(p->out, l, s->limit, p->style);
		lifetime_free(l);
	} else {
		struct timeline t;
		timeline_build(&t, profile, filter_is_empty(filter_of(s)) ? NULL : a->verdicts);
		chart_print(p->out, &t, profile->run.duration_ns, p->style);
		vec_free(&t.points);
	}
	answer_free(a);
}

static void print_histogram(const struct printer *p)
{
	const struct profile *profile = model_get_profile(p->model);

	fputc('\n', p->out);
	if (profile->totals.allocations == 0)
		fputs("Nothing was allocated.\n", p->out);
	else if (p->sheet->shape == SHEET_SIZES)
		histogram_print_sizes(p->out, profile, p->style);
	else
		histogram_print_lifetimes(p->out, profile, p->style);
}

void sheet_print(FILE *out, const struct model *m, const struct sheet *s, const struct style *style)
{
	const struct printer p = {out, m, s, style};

	header_print(out, model_get_profile(m), style);
	answer_text_print_filter(out, m, filter_of(s), style);
	switch (s->shape) {
	case SHEET_TREE:
	case SHEET_FLAT:
		if (s->deltas)
			print_deltas(&p);
		else
			print_answer(&p);
		break;
	case SHEET_SNAPSHOTS:
		print_snapshots(&p);
		break;
	case SHEET_THREADS:
		print_threads(&p);
		break;
	case SHEET_GLOBALS:
		print_globals(&p);
		break;
	case SHEET_STACKS:
		print_stacks(&p);
		break;
	case SHEET_TYPES:
		print_types(&p);
		break;
	case SHEET_LIFETIME:
	case SHEET_TIMELINE:
	case SHEET_FINDINGS:
	case SHEET_RSS:
		print_filtered(&p);
		break;
	default:
		print_histogram(&p);
	}
}
