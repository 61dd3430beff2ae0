/* answer_json.c -- what was asked and what is left out, as members of a JSON object. Runs: offline,
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/answer_json.h"

#include "report/interval_json.h"

void answer_json_add_pid(struct json *j, const struct profile *p)
{
	if (p->run.merge)
		json_add_null(j, "pid");
	else
		json_add_uint(j, "pid", p->run.pid);
}

void answer_json_add_run(struct json *j, const struct profile *p)
{
	json_add_string(j, "program", profile_string(p, p->run.program));
	answer_json_add_pid(j, p);
}

void answer_json_add_losses(struct json *j, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	json_begin_object(j, "losses");
	json_add_uint(j, "lost_events", t->lost_events);
	json_add_uint(j, "truncated_stacks", t->truncated_stacks);
	json_add_uint(j, "unwind_failures", t->unwind_failures);
	json_add_uint(j, "foreign_frees", t->foreign_frees);
	json_add_uint(j, "reentrant_calls", t->reentrant_calls);
	json_add_uint(j, "children_not_recorded", p->run.children_not_recorded);
	json_add_bool(j, "damaged", p->damaged);
	json_end_object(j);
}

static void add_patterns(struct json *j, const char *key, const struct pattern_list *list)
{
	if (!list->all.count)
		return;
	json_begin_list(j, key);
	for (size_t i = 0; i < list->all.count; i++)
		json_add_string(j, NULL, pattern_get_text(list->all.at[i]));
	json_end_list(j);
}

static void add_misses(struct json *j, const struct model *m, const struct filter *f)
{
	struct filter_misses misses = {0};

	filter_list_misses(f, m, &misses);
	json_begin_list(j, "not_in_profile");
	for (size_t i = 0; i < misses.all.count; i++)
		json_add_string(j, NULL, pattern_get_text(misses.all.at[i].pattern));
	json_end_list(j);
	vec_free(&misses.all);
}

void answer_json_add_filter(struct json *j, const struct model *m, const struct filter *f)
{
	if (filter_is_empty(f)) {
		json_add_null(j, "filter");
		return;
	}
	json_begin_object(j, "filter");
	add_patterns(j, "include", &f->include);
	add_patterns(j, "exclude", &f->exclude);
	add_patterns(j, "module", &f->modules);
	add_patterns(j, "not_module", &f->no_modules);
	add_patterns(j, "tag", &f->tags);
	add_patterns(j, "thread", &f->threads);
	if (f->size_min)
		json_add_uint(j, "min_size", f->size_min);
	if (f->has_size_max)
		json_add_uint(j, "max_size", f->size_max);
	add_misses(j, m, f);
	json_end_object(j);
}

/* Amounts of growth have a sign; the others are far from where one would matter. */
static void add_amount(struct json *j, const struct answer *a, struct amount amount,
		       const char *const keys[2])
{
	if (a->view.figure == FIGURE_GROWTH) {
		json_add_int(j, keys[0], (int64_t)amount.bytes);
		json_add_int(j, keys[1], (int64_t)amount.blocks);
		return;
	}
	json_add_uint(j, keys[0], amount.bytes);
	json_add_uint(j, keys[1], amount.blocks);
}

static const char *const totals[2] = {"total_bytes", "total_blocks"};
static const char *const plain[2] = {"bytes", "blocks"};
static const char *const counted[2] = {"counted_bytes", "counted_blocks"};

static const char *const reasons[FILTER_VERDICTS] = {
	[FILTER_FUNCTION] = "function", [FILTER_MODULE] = "module",
	[FILTER_TAG] = "tag",		[FILTER_SIZE] = "size",
	[FILTER_THREAD] = "thread",	[FILTER_SUPPRESSED] = "suppressed",
};

static void add_left_out(struct json *j, const struct answer *a)
{
	json_begin_object(j, "left_out");
	for (unsigned i = 0; i < FILTER_VERDICTS; i++) {
		if (!reasons[i])
			continue;
		json_begin_object(j, reasons[i]);
		add_amount(j, a, a->parts[i].amount, plain);
		json_add_uint(j, "stacks", a->parts[i].sites);
		json_end_object(j);
	}
	json_end_object(j);
	if (!a->view.filter || !filter_asks_for_sizes(a->view.filter))
		return;
	json_add_bool(j, "sizes_traced", a->sizes_traced);
	json_begin_object(j, "mixed_sizes");
	add_amount(j, a, a->mixed.amount, plain);
	json_add_uint(j, "stacks", a->mixed.sites);
	json_end_object(j);
}

static void add_moment(struct json *j, const char *key, const struct moment *m)
{
	json_begin_object(j, key);
	json_add_uint(j, "asked_ns", m->asked_ns);
	json_add_uint(j, "time_ns", m->time_ns);
	if (m->kind == MOMENT_POINT)
		json_add_uint(j, "point", m->point);
	else
		json_add_null(j, "point");
	json_add_bool(j, "exact", m->kind != MOMENT_POINT || m->asked_ns == m->time_ns);
	if (m->snapshot)
		json_add_uint(j, "snapshot", m->snapshot);
	json_end_object(j);
}

static struct amount sum_of_rule(const struct answer *a, uint32_t rule)
{
	const struct profile *p = model_get_profile(a->model);
	struct amount sum = {0};

	for (size_t i = 0; i < p->sites.count; i++)
		if (a->rules[i] == rule)
			sum = amount_plus(sum, figure_get(&p->sites.at[i], FIGURE_LEAKED));
	return sum;
}

static void add_rules(struct json *j, const struct answer *a)
{
	json_begin_list(j, "suppressed");
	for (uint32_t i = 0; i < a->view.suppress->rules.count; i++) {
		const struct suppress_rule *rule = &a->view.suppress->rules.at[i];
		struct amount sum = sum_of_rule(a, i);
		if (sum.blocks == 0)
			continue;
		json_begin_object(j, NULL);
		json_add_string(j, "rule", rule->text);
		json_add_bool(j, "known", rule->known != 0);
		add_amount(j, a, sum, plain);
		json_end_object(j);
	}
	json_end_list(j);
}

void answer_json_add(struct json *j, const struct answer *a)
{
	json_add_string(j, "figure", figure_name(a->view.figure));
	if (model_get_profile(a->model)->run.sample_period)
		json_add_uint(j, "sample_period", model_get_profile(a->model)->run.sample_period);
	add_amount(j, a, a->parts[FILTER_KEPT].amount, totals);
	interval_json_add(j, "total_", a->parts[FILTER_KEPT].amount,
			  a->view.figure == FIGURE_GROWTH ? FIGURES_GROWN : FIGURES_PLAIN);
	add_amount(j, a, a->counted, counted);
	if (a->view.figure == FIGURE_GROWTH)
		add_moment(j, "from", &a->view.from);
	if (a->view.figure == FIGURE_GROWTH || a->view.figure == FIGURE_LIVE)
		add_moment(j, "at", &a->view.at);
	add_left_out(j, a);
	if (a->rules)
		add_rules(j, a);
}
