/* answer.c -- a question to a profile (which figure, when, of which stacks) and its answer, stack
 * by stack. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/answer.h"

static const struct filter everything;

bool answer_is_possible(const struct profile *p, const struct filter *f)
{
	return filter_has_all_threads(f, p);
}

static void fill_growth(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);
	struct amount *before = mem_new(p->sites.count, sizeof(*before));

	moment_fill(p, &a->view.from, before);
	moment_fill(p, &a->view.at, a->amounts);
	for (size_t i = 0; i < p->sites.count; i++)
		a->amounts[i] = amount_minus(a->amounts[i], before[i]);
	free(before);
	a->counted =
		amount_minus(moment_get_total(p, &a->view.at), moment_get_total(p, &a->view.from));
}

static void fill_figure(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);

	for (size_t i = 0; i < p->sites.count; i++)
		a->amounts[i] = figure_get(&p->sites.at[i], a->view.figure);
	a->counted = figure_get_total(p, a->view.figure);
}

/* The amounts of all sites, before any filter. */
static void fill(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);

	if (a->view.figure == FIGURE_GROWTH) {
		fill_growth(a);
	} else if (a->view.figure == FIGURE_LIVE) {
		moment_fill(p, &a->view.at, a->amounts);
		a->counted = moment_get_total(p, &a->view.at);
	} else {
		fill_figure(a);
	}
}

static void judge(struct answer *a)
{
	const struct filter *filter = a->view.filter ? a->view.filter : &everything;

	a->verdicts = filter_judge(filter, a->model);
	if (a->view.figure == FIGURE_LEAKED && a->view.suppress)
		a->rules = suppress_judge(a->view.suppress, a->model, a->verdicts);
}

/* Sums up, and takes away what is left out. */
static void sum_up(struct answer *a)
{
	size_t count = model_get_profile(a->model)->sites.count;

	for (size_t i = 0; i < count; i++) {
		struct answer_part *part = &a->parts[a->verdicts[i]];
		if (amount_is_zero(a->amounts[i]))
			continue;
		part->amount = amount_plus(part->amount, a->amounts[i]);
		part->sites++;
		a->whole = amount_plus(a->whole, a->amounts[i]);
		if (a->verdicts[i] != FILTER_KEPT)
			a->amounts[i] = (struct amount){0, 0};
	}
	/* Nothing was ever counted for the sum of what sites held at different times. */
	if (a->view.figure == FIGURE_OWN_PEAK)
		a->counted = a->whole;
}

static bool is_shrunk(struct amount a)
{
	return (int64_t)a.bytes < 0 || (a.bytes == 0 && (int64_t)a.blocks < 0);
}

static void divide_growth(struct answer *a)
{
	static const struct amount none = {0, 0};
	size_t count = model_get_profile(a->model)->sites.count;

	a->shrunk = mem_new(count, sizeof(*a->shrunk));
	for (size_t i = 0; i < count; i++) {
		if (!is_shrunk(a->amounts[i]))
			continue;
		a->shrunk[i] = amount_minus(none, a->amounts[i]);
		a->amounts[i] = none;
	}
}

struct answer *answer_new(const struct model *m, const struct view *view)
{
	struct answer *a = mem_new(1, sizeof(*a));

	a->model = m;
	a->view = *view;
	a->amounts = mem_new(model_get_profile(m)->sites.count, sizeof(*a->amounts));
	fill(a);
	judge(a);
	sum_up(a);
	if (view->figure == FIGURE_GROWTH)
		divide_growth(a);
	return a;
}

void answer_free(struct answer *a)
{
	if (!a)
		return;
	free(a->amounts);
	free(a->shrunk);
	free(a->verdicts);
	free(a->rules);
	free(a);
}
