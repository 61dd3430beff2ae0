/* answer.c -- a question to a profile (which figure, when, of which stacks) and its answer, stack
 * by stack. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/answer.h"

#include "model/shares.h"
#include "model/sizes.h"

static const struct filter everything;

bool answer_is_possible(const struct profile *p, const struct filter *f, enum figure figure)
{
	return filter_has_all_threads(f, p) || (figure < FIGURE_KINDS && shares_are_known(p));
}

static void fill_growth(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);
	struct amount *before = mem_new(p->sites.count, sizeof(*before));

	moment_fill(p, &a->view.from, before);
	moment_fill(p, &a->view.at, a->amounts);
	for (size_t i = 0; i < p->sites.count; i++)
		a->amounts[i] = amount_change(before[i], a->amounts[i]);
	free(before);
	a->counted =
		amount_change(moment_get_total(p, &a->view.from), moment_get_total(p, &a->view.at));
}

static void fill_figure(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);

	for (size_t i = 0; i < p->sites.count; i++)
		a->amounts[i] = figure_get_estimate(p, i, a->view.figure);
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

/* What the chosen threads have of a site. */
static struct amount get_share(const struct answer *a, const uint8_t *chosen, size_t site)
{
	const struct profile *p = model_get_profile(a->model);
	size_t count = shares_get_count(p, site);
	struct amount sum = {0};

	for (size_t i = 0; i < count; i++) {
		struct profile_part share = shares_get(p, site, i);
		if (share.thread <= p->threads.count && chosen[share.thread])
			sum = amount_plus(sum, shares_get_amount(&share, a->view.figure));
	}
	if (p->run.sample_period)
		sum = figure_bound_site(p, site, sum);
	return sum;
}

/* By serial; 0, which stands for threads beyond what was kept apart, is never chosen. */
static uint8_t *choose_threads(const struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);
	uint8_t *chosen = mem_new(p->threads.count + 1, sizeof(*chosen));

	for (size_t i = 0; i < p->threads.count; i++) {
		const struct profile_thread *t = &p->threads.at[i];
		if (t->serial && t->serial <= p->threads.count)
			chosen[t->serial] = filter_has_thread(a->view.filter, p, t);
	}
	return chosen;
}

/* Leaves of each site that is kept the part of the chosen threads. */
static void take_shares(struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);
	struct answer_part *others = &a->parts[FILTER_THREAD];
	uint8_t *chosen = choose_threads(a);

	for (size_t i = 0; i < p->sites.count; i++) {
		if (a->verdicts[i] != FILTER_KEPT || amount_is_zero(a->amounts[i]))
			continue;
		struct amount share = get_share(a, chosen, i);
		struct amount rest = amount_minus(a->amounts[i], share);
		others->amount = amount_plus(others->amount, rest);
		others->sites += !amount_is_zero(rest);
		a->whole = amount_plus(a->whole, rest);
		a->amounts[i] = share;
	}
	free(chosen);
}

static bool asks_for_threads(const struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);

	return a->view.filter && !filter_has_all_threads(a->view.filter, p) &&
	       answer_is_possible(p, a->view.filter, a->view.figure);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* What blocks of the right sizes have, by site; NULL if that is not known. The caller frees it. */
static struct amount *list_sized(const struct answer *a)
{
	const struct profile *p = model_get_profile(a->model);
	const struct filter *f = a->view.filter;
	enum figure figure = a->view.figure == FIGURE_GROWTH ? FIGURE_LIVE : a->view.figure;
	struct amount *sized = mem_new(p->sites.count, sizeof(*sized));
	struct amount *before = mem_new(p->sites.count, sizeof(*before));
	bool good = sizes_fill(p, f, figure, &a->view.at, sized);

	if (good && a->view.figure == FIGURE_GROWTH) {
		good = sizes_fill(p, f, figure, &a->view.from, before);
		for (size_t i = 0; i < p->sites.count; i++)
			sized[i] = amount_minus(sized[i], before[i]);
	}
	free(before);
	if (good)
		return sized;
	free(sized);
	return NULL;
}

static void divide_site(struct answer *a, size_t site, struct amount sized)
{
	struct answer_part *others = &a->parts[FILTER_SIZE];
	struct amount rest = amount_minus(a->amounts[site], sized);

	others->amount = amount_plus(others->amount, rest);
	others->sites += !amount_is_zero(rest);
	a->whole = amount_plus(a->whole, rest);
	a->amounts[site] = sized;
}

/* Takes a site as a whole: by what its sums say, or because they do not say. */
static void judge_mixed(struct answer *a, size_t site)
{
	const struct profile_site *s = &model_get_profile(a->model)->sites.at[site];
	enum filter_verdict verdict = FILTER_VERDICTS;

	if (a->view.figure != FIGURE_GROWTH && figure_has_bytes(a->view.figure) &&
	    !a->view.whole_stacks)
		verdict = sizes_judge(a->view.filter, s, a->amounts[site]);
	if (verdict == FILTER_SIZE)
		a->verdicts[site] = FILTER_SIZE;
	if (verdict != FILTER_VERDICTS)
		return;
	a->mixed.amount = amount_plus(a->mixed.amount, a->amounts[site]);
	a->mixed.sites++;
}

/* Shares of threads and sizes at once are not in the trace: a free does not say whose block it is.
 */
static void take_sizes(struct answer *a, bool has_shares)
{
	const struct profile *p = model_get_profile(a->model);
	struct amount *sized = has_shares || a->view.whole_stacks ? NULL : list_sized(a);

	a->sizes_traced = sized != NULL;
	for (size_t i = 0; i < p->sites.count; i++) {
		if (a->verdicts[i] != FILTER_KEPT || amount_is_zero(a->amounts[i]) ||
		    !filter_is_mixed(a->view.filter, &p->sites.at[i]))
			continue;
		if (sized)
			divide_site(a, i, sized[i]);
		else
			judge_mixed(a, i);
	}
	free(sized);
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
			a->amounts[i] = (struct amount){0};
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
	static const struct amount none = {0};
	size_t count = model_get_profile(a->model)->sites.count;

	a->shrunk = mem_new(count, sizeof(*a->shrunk));
	for (size_t i = 0; i < count; i++) {
		if (!is_shrunk(a->amounts[i]))
			continue;
		a->shrunk[i] = amount_change(a->amounts[i], none);
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
	bool has_shares = asks_for_threads(a);
	if (has_shares)
		take_shares(a);
	if (view->filter && filter_asks_for_sizes(view->filter))
		take_sizes(a, has_shares);
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
