/* check.c -- limits on the figures of a profile, for automatic tests.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/check.h"

#include "model/diff.h"
#include "model/leaks.h"
#include "model/suppress.h"
#include "model/unchecked.h"

struct trait {
	const char *name;
	enum figure figure; /* whose stacks are behind it; FIGURE_KINDS: none are */
	bool growth;
};

static const struct trait traits[CHECK_KINDS] = {
	[CHECK_INTACT] = {"intact", FIGURE_KINDS, false},
	[CHECK_LOST] = {"lost", FIGURE_KINDS, false},
	[CHECK_PEAK] = {"peak", FIGURE_PEAK, false},
	[CHECK_LEAKED] = {"leaked", FIGURE_LEAKED, false},
	[CHECK_UNREACHABLE] = {"unreachable", FIGURE_LEAKED, false},
	[CHECK_ALLOCATIONS] = {"allocations", FIGURE_CALLS, false},
	[CHECK_TEMPORARY] = {"temporary", FIGURE_TEMPORARY, false},
	[CHECK_PEAK_GROWTH] = {"peak-growth", FIGURE_PEAK, true},
	[CHECK_LEAKED_GROWTH] = {"leaked-growth", FIGURE_LEAKED, true},
	[CHECK_ALLOCATED_GROWTH] = {"allocated-growth", FIGURE_ALLOCATED, true},
	[CHECK_CALLS_GROWTH] = {"calls-growth", FIGURE_CALLS, true},
};

const char *check_name(enum check_kind kind)
{
	return traits[kind].name;
}

bool check_is_bytes(enum check_kind kind)
{
	enum figure f = traits[kind].figure;

	return f != FIGURE_KINDS && !figure_is_count(f);
}

bool check_is_growth(enum check_kind kind)
{
	return traits[kind].growth;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t get_value(const struct profile *p, enum check_kind kind)
{
	enum figure f = traits[kind].figure;

	if (kind == CHECK_INTACT)
		return p->damaged;
	if (kind == CHECK_LOST)
		return p->totals.lost_events;
	return figure_get_value(figure_get_total(p, f), f);
}

/* part / whole <= share, in integers. */
static bool is_within(uint64_t part, uint64_t whole, uint64_t share)
{
	return (unsigned __int128)part * CHECK_WHOLE <= (unsigned __int128)whole * share;
}

static bool holds(const struct check_result *r)
{
	if (check_is_growth(r->kind))
		return r->value <= r->before ||
		       is_within(r->value - r->before, r->before, r->limit.value);
	if (r->limit.relative)
		return is_within(r->value, r->whole, r->limit.value);
	return r->value <= r->limit.value;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Keeps the largest; `stacks` is short, so a walk through it does. */
static void insert_stack(struct check_result *r, struct check_stack s, size_t most)
{
	enum figure f = traits[r->kind].figure;
	size_t at = r->stacks.count;

	while (at > 0 &&
	       figure_get_value(r->stacks.at[at - 1].amount, f) < figure_get_value(s.amount, f))
		at--;
	if (at >= most)
		return;
	if (r->stacks.count < most)
		(void)vec_push(&r->stacks);
	for (size_t i = r->stacks.count - 1; i > at; i--)
		r->stacks.at[i] = r->stacks.at[i - 1];
	r->stacks.at[at] = s;
}

static void list_largest(struct check_result *r, const struct profile *p,
			 const struct check_request *request)
{
	enum figure f = traits[r->kind].figure;
	const bool *suppressed =
		r->kind == CHECK_LEAKED ? request->suppressed[DIFF_NEW_SIDE] : NULL;

	for (uint32_t i = 0; i < p->sites.count; i++) {
		struct amount a = figure_get(&p->sites.at[i], f);
		if (figure_get_value(a, f) && !(suppressed && suppressed[i]))
			insert_stack(r, (struct check_stack){.site = i, .amount = a},
				     request->stacks);
	}
}

static bool is_lost(const struct profile_lost *row)
{
	return row->class == PROFILE_LOST_DEFINITE || row->class == PROFILE_LOST_INDIRECT;
}

/* What is lost at a site by itself and with other blocks is named apart, as it is elsewhere. */
static void list_lost(struct check_result *r, const struct profile *p,
		      const struct check_request *request)
{
	const bool *suppressed = request->suppressed[DIFF_NEW_SIDE];

	for (size_t i = 0; i < p->lost.count; i++) {
		const struct profile_lost *row = &p->lost.at[i];
		struct amount a = {.bytes = row->bytes, .blocks = row->blocks};

		if (is_lost(row) && !(suppressed && suppressed[row->site]))
			insert_stack(r, (struct check_stack){.site = row->site, .amount = a},
				     request->stacks);
	}
}

static void list_growers(struct check_result *r, const struct model *m,
			 const struct check_request *request)
{
	const struct model *models[2] = {request->baseline, m};
	const struct diff_request wanted = {
		.figure = traits[r->kind].figure,
		.by = DIFF_BY_STACK,
		.suppressed = {request->suppressed[0], request->suppressed[1]},
	};
	struct diff *d = diff_build(models, &wanted);

	for (size_t i = 0; i < d->rows.count && r->stacks.count < request->stacks; i++) {
		const struct diff_row *row = &d->rows.at[i];
		if (diff_get_change(d, row) <= 0)
			break;
		if (row->subjects[DIFF_NEW_SIDE] != DIFF_NOBODY)
			*vec_push(&r->stacks) = (struct check_stack){
				row->subjects[DIFF_NEW_SIDE], row->amounts[1], row->amounts[0]};
	}
	diff_free(d);
}

/* ---- results --------------------------------------------------------------------------------- */

static struct check_limit find_limit(const struct check_request *request, enum check_kind kind)
{
	struct check_limit limit = request->limits[kind];

	if (traits[kind].growth)
		limit = request->limits[CHECK_PEAK_GROWTH];
	if (kind == CHECK_INTACT || (kind == CHECK_LOST && !limit.set)) {
		limit = (struct check_limit){.set = true};
		if (request->allow_damaged)
			limit.value = UINT64_MAX;
	}
	return limit;
}

static uint64_t less(uint64_t value, uint64_t part)
{
	return value > part ? value - part : 0;
}

static void take_suppressed(struct check_result *r, const struct profile *p,
			    const struct check_request *request)
{
	r->suppressed = suppress_sum(p, request->suppressed[DIFF_NEW_SIDE]);
	r->value = less(r->value, r->suppressed.bytes);
	if (!traits[r->kind].growth)
		return;
	r->suppressed_before = suppress_sum(model_get_profile(request->baseline),
					    request->suppressed[DIFF_OLD_SIDE]);
	r->before = less(r->before, r->suppressed_before.bytes);
}

static void take_lost(struct check_result *r, const struct model *m,
		      const struct check_request *request)
{
	struct leaks l;

	leaks_build(&l, m, request->suppressed[DIFF_NEW_SIDE], 0);
	r->value = leaks_get_lost(&l).bytes;
	r->suppressed = l.suppressed;
	leaks_free(&l);
}

/* A limit on what cannot be told is not held. */
static void take_unchecked(struct check_result *r, const struct profile *p,
			   const struct check_request *request)
{
	struct unchecked u;

	unchecked_list(&u, p, request->allow_unchecked);
	if (u.rows.count)
		r->unchecked = unchecked_describe(&u, p);
	unchecked_free(&u);
}

static struct check_result judge(const struct model *m, const struct check_request *request,
				 enum check_kind kind)
{
	const struct profile *p = model_get_profile(m);
	struct check_result r = {
		.kind = kind,
		.limit = find_limit(request, kind),
		.value = get_value(p, kind),
		.whole = p->totals.allocations,
	};

	if (kind == CHECK_INTACT && request->baseline)
		r.value += model_get_profile(request->baseline)->damaged;
	if (traits[kind].growth)
		r.before = get_value(model_get_profile(request->baseline), kind);
	if (kind == CHECK_UNREACHABLE) {
		take_lost(&r, m, request);
		take_unchecked(&r, p, request);
	} else if (traits[kind].figure == FIGURE_LEAKED) {
		take_suppressed(&r, p, request);
	}
	r.failed = !holds(&r);
	if (r.failed && traits[kind].figure != FIGURE_KINDS) {
		if (traits[kind].growth)
			list_growers(&r, m, request);
		else if (kind == CHECK_UNREACHABLE)
			list_lost(&r, p, request);
		else
			list_largest(&r, p, request);
	}
	r.failed = r.failed || r.unchecked;
	return r;
}

struct check *check_build(const struct model *m, const struct check_request *request)
{
	struct check *c = mem_new(1, sizeof(*c));

	c->model = m;
	for (unsigned kind = 0; kind < CHECK_KINDS; kind++) {
		struct check_limit limit = find_limit(request, (enum check_kind)kind);
		if (!limit.set || (traits[kind].growth && !request->baseline))
			continue;
		struct check_result *r = vec_push(&c->results);
		*r = judge(m, request, (enum check_kind)kind);
		c->failures += r->failed;
	}
	return c;
}

void check_free(struct check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->results.count; i++) {
		vec_free(&c->results.at[i].stacks);
		free(c->results.at[i].unchecked);
	}
	vec_free(&c->results);
	free(c);
}
