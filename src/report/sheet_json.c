/* sheet_json.c -- a whole report as one JSON object. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/findings.h"
#include "model/lifetime.h"
#include "model/snapshots.h"
#include "model/timeline.h"
#include "report/answer_json.h"
#include "report/chart.h"
#include "report/deepest_report.h"
#include "report/findings_report.h"
#include "report/globals_report.h"
#include "report/histogram.h"
#include "report/lifetime_report.h"
#include "report/rss_report.h"
#include "report/sheet.h"
#include "report/snapshots_text.h"
#include "report/thread_report.h"
#include "report/types_report.h"
#include "report/tree_json.h"

static const struct filter everything;

struct printer {
	struct json json;
	const struct model *model;
	const struct sheet *sheet;
};

static const struct filter *filter_of(const struct sheet *s)
{
	return s->view.filter ? s->view.filter : &everything;
}

static void add_shape(struct printer *p, const struct amount *amounts, enum figures_sign sign)
{
	const struct sheet *s = p->sheet;

	if (s->shape == SHEET_FLAT) {
		struct flat *f = flat_build_of(p->model, s->view.figure, s->key, amounts);
		tree_json_add_flat(&p->json, f, sign);
		flat_free(f);
		return;
	}
	struct tree *t = tree_build_of(p->model, &s->tree, amounts);
	tree_json_add(&p->json, t, sign);
	tree_free(t);
}

static void add_answer(struct printer *p)
{
	struct answer *a = answer_new(p->model, &p->sheet->view);

	answer_json_add(&p->json, a);
	if (a->shrunk) {
		json_begin_object(&p->json, "grown");
		add_shape(p, a->amounts, FIGURES_GROWN);
		json_end_object(&p->json);
		json_begin_object(&p->json, "shrunk");
		add_shape(p, a->shrunk, FIGURES_SHRUNK);
		json_end_object(&p->json);
	} else {
		add_shape(p, a->amounts, FIGURES_PLAIN);
	}
	answer_free(a);
}

static void add_deltas(struct printer *p)
{
	const struct profile *profile = model_get_profile(p->model);
	const struct sheet *whole = p->sheet;

	json_begin_list(&p->json, "deltas");
	for (size_t i = 1; i < profile->snapshots.count; i++) {
		struct sheet sheet = *whole;

		sheet.view.from = snapshots_get_moment(profile, i - 1);
		sheet.view.at = snapshots_get_moment(profile, i);
		p->sheet = &sheet;
		json_begin_object(&p->json, NULL);
		add_answer(p);
		json_end_object(&p->json);
	}
	json_end_list(&p->json);
	p->sheet = whole;
}

static void add_threads(struct printer *p)
{
	const struct profile *profile = model_get_profile(p->model);
	const struct sheet *s = p->sheet;
	struct by_thread threads;

	uint8_t *verdicts = filter_asks_for_stacks(filter_of(s))
				    ? filter_judge(s->view.filter, p->model)
				    : NULL;
	by_thread_build(&threads, profile, s->view.figure, s->view.filter, verdicts);
	free(verdicts);
	struct thread_report r = {profile, &threads, s->view.figure, 0, 0};
	thread_report_add(&p->json, &r);
	vec_free(&threads.rows);
}

static void add_lifetimes(struct printer *p, const uint8_t *verdicts)
{
	const struct sheet *s = p->sheet;
	struct lifetimes *l = lifetime_build(p->model, s->key, verdicts, s->shortest_first);

	lifetime_report_add(&p->json, l);
	lifetime_free(l);
}

static void add_findings(struct printer *p, const uint8_t *verdicts)
{
	struct findings *f = findings_build(p->model, verdicts);

	findings_report_add(&p->json, p->model, f);
	findings_free(f);
}

static void add_timeline(struct printer *p, const uint8_t *verdicts)
{
	struct timeline t;

	timeline_build(&t, model_get_profile(p->model), verdicts);
	chart_add(&p->json, &t);
	vec_free(&t.points);
}

static void add_stacks(struct printer *p)
{
	struct deepest deepest = {0};
	const struct deepest_report r = {p->model, &deepest, 0};

	deepest_build(&deepest, p->model, p->sheet->tree.fold);
	deepest_report_add(&p->json, &r);
	deepest_fini(&deepest);
}

static void add_rss(struct printer *p, const uint8_t *verdicts)
{
	const struct sheet *s = p->sheet;
	struct pinning *n = pinning_build(p->model, s->survey, s->key, verdicts);

	rss_report_add(&p->json, n);
	pinning_free(n);
}

static void add_filtered(struct printer *p)
{
	const struct sheet *s = p->sheet;
	struct view view = s->view;

	view.whole_stacks = true;
	struct answer *a = answer_new(p->model, &view);
	if (s->shape == SHEET_LIFETIME)
		add_lifetimes(p, a->verdicts);
	else if (s->shape == SHEET_FINDINGS)
		add_findings(p, a->verdicts);
	else if (s->shape == SHEET_RSS)
		add_rss(p, filter_is_empty(filter_of(s)) ? NULL : a->verdicts);
	else
		add_timeline(p, filter_is_empty(filter_of(s)) ? NULL : a->verdicts);
	answer_free(a);
}

void sheet_print_json(FILE *out, const struct model *m, const struct sheet *s)
{
	struct printer p = {{.out = out}, m, s};
	const struct profile *profile = model_get_profile(m);

	json_begin_object(&p.json, NULL);
	answer_json_add_run(&p.json, profile);
	answer_json_add_losses(&p.json, profile);
	answer_json_add_filter(&p.json, m, filter_of(s));
	switch (s->shape) {
	case SHEET_TREE:
	case SHEET_FLAT:
		if (s->deltas)
			add_deltas(&p);
		else
			add_answer(&p);
		break;
	case SHEET_SNAPSHOTS:
		snapshots_text_add(&p.json, profile);
		break;
	case SHEET_GLOBALS:
		globals_report_add(&p.json, profile, true);
		break;
	case SHEET_STACKS:
		add_stacks(&p);
		break;
	case SHEET_TYPES:
		types_report_add(&p.json, profile, s->survey);
		break;
	case SHEET_THREADS:
		add_threads(&p);
		break;
	case SHEET_SIZES:
		histogram_add_sizes(&p.json, profile);
		break;
	case SHEET_LIFETIMES:
		histogram_add_lifetimes(&p.json, profile);
		break;
	default:
		add_filtered(&p);
	}
	json_end_object(&p.json);
}
