/* ranking.c -- which functions or stacks hold the most, grow most, allocate most: the rows of a
 * table that is renewed while a program runs. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "model/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static const char *const names[RANKING_KEYS] = {
	[RANKING_LIVE] = "live",   [RANKING_BLOCKS] = "blocks", [RANKING_GROWTH] = "growth",
	[RANKING_CALLS] = "calls", [RANKING_BYTES] = "bytes",
};

const char *ranking_name(enum ranking_key key)
{
	return names[key];
}

enum ranking_key ranking_find(const char *name)
{
	unsigned i = 0;

	while (i < RANKING_KEYS && strcmp(names[i], name) != 0)
		i++;
	return (enum ranking_key)i;
}

/* ---- earlier states -------------------------------------------------------------------------- */

void ranking_note(struct ranking_base *b, const struct profile *p)
{
	ranking_base_free(b);
	b->count = p->sites.count;
	b->sites = mem_new(b->count + 1, sizeof(*b->sites));
	if (b->count)
		memcpy(b->sites, p->sites.at, b->count * sizeof(*b->sites));
	b->time_ns = p->run.duration_ns;
	b->start_unix_ns = p->run.start_unix_ns;
	b->totals = p->totals;
}

void ranking_base_free(struct ranking_base *b)
{
	free(b->sites);
	*b = (struct ranking_base){0};
}

static bool is_base_of(const struct ranking_base *b, const struct profile *p)
{
	return b->start_unix_ns == p->run.start_unix_ns && b->time_ns <= p->run.duration_ns;
}

/* What the site had then; nothing if there was no such site. */
static struct profile_site get_earlier(const struct ranking_base *b, const struct profile *p,
				       size_t site)
{
	if (is_base_of(b, p) && site < b->count)
		return b->sites[site];
	return (struct profile_site){0};
}

static struct ranking_figures get_figures(const struct ranking_request *r, size_t site)
{
	const struct profile *p = model_get_profile(r->model);
	const struct profile_site *now = &p->sites.at[site];
	struct profile_site mark = get_earlier(r->mark, p, site);
	struct profile_site before = get_earlier(r->before, p, site);

	return (struct ranking_figures){
		.live = {.bytes = now->live_bytes, .blocks = now->live_blocks},
		.growth_bytes = (int64_t)(now->live_bytes - mark.live_bytes),
		.allocated = {.bytes = now->allocated_bytes - before.allocated_bytes,
			      .blocks = now->allocations - before.allocations},
	};
}

static struct ranking_figures get_whole(const struct ranking_request *r)
{
	const struct profile *p = model_get_profile(r->model);
	static const struct profile_totals none;
	const struct profile_totals *mark = is_base_of(r->mark, p) ? &r->mark->totals : &none;
	const struct profile_totals *before = is_base_of(r->before, p) ? &r->before->totals : &none;

	return (struct ranking_figures){
		.live = {.bytes = p->totals.leaked_bytes, .blocks = p->totals.leaked_blocks},
		.growth_bytes = (int64_t)(p->totals.leaked_bytes - mark->leaked_bytes),
		.allocated = {.bytes = p->totals.allocated_bytes - before->allocated_bytes,
			      .blocks = p->totals.allocations - before->allocations},
	};
}

static void add_figures(struct ranking_figures *to, const struct ranking_figures *more)
{
	to->live = amount_plus(to->live, more->live);
	to->growth_bytes += more->growth_bytes;
	to->allocated = amount_plus(to->allocated, more->allocated);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int64_t get_value(const struct ranking_figures *f, enum ranking_key key)
{
	switch (key) {
	case RANKING_BLOCKS:
		return (int64_t)f->live.blocks;
	case RANKING_GROWTH:
		return f->growth_bytes;
	case RANKING_CALLS:
		return (int64_t)f->allocated.blocks;
	case RANKING_BYTES:
		return (int64_t)f->allocated.bytes;
	default:
		return (int64_t)f->live.bytes;
	}
}

struct order {
	enum ranking_key key;
};

/* Equal ones by what is live, then in the order they were first seen: rows must not jump about. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct ranking_row *x = a, *y = b;
	const struct order *order = context;
	int64_t left = get_value(&x->figures, order->key);
	int64_t right = get_value(&y->figures, order->key);

	if (left == right) {
		left = (int64_t)x->figures.live.bytes;
		right = (int64_t)y->figures.live.bytes;
	}
	if (left != right)
		return left > right ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static void sort(struct ranking *r, enum ranking_key key)
{
	struct order order = {key};

	if (r->rows.count)
		qsort_r(r->rows.at, r->rows.count, sizeof(*r->rows.at), compare_rows, &order);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* By frame, whether the filter takes it; NULL: it takes all. */
static bool *list_taken(const struct ranking_request *r)
{
	if (!r->filter || !*r->filter)
		return NULL;
	size_t count = model_get_frame_count(r->model);
	bool *taken = mem_new(count + 1, sizeof(*taken));

	for (uint32_t i = 0; i < count; i++)
		taken[i] = strcasestr(model_get_frame(r->model, i)->function, r->filter) != NULL;
	return taken;
}

static bool is_taken(const bool *taken, const struct model_stack *stack)
{
	for (size_t i = 0; taken && i < stack->frames.count; i++)
		if (taken[stack->frames.at[i]])
			return true;
	return !taken;
}

static bool is_idle(const struct ranking_figures *f)
{
	return amount_is_zero(f->live) && f->growth_bytes == 0 && amount_is_zero(f->allocated);
}

/* The row of a function, made if need be. */
static struct ranking_row *find_row(struct ranking *r, struct map *index, uint64_t key)
{
	uint32_t *place = map_reserve(index, key);

	if (*place == 0) {
		*vec_push(&r->rows) = (struct ranking_row){0};
		*place = (uint32_t)r->rows.count;
	}
	return &r->rows.at[*place - 1];
}

static void add_to_row(struct ranking_row *row, const struct ranking_row *site,
		       enum ranking_key key)
{
	bool first = row->stacks == 0;

	if (first || get_value(&site->figures, key) > row->best_value) {
		row->site = site->site;
		row->frame = site->frame;
		row->best_value = get_value(&site->figures, key);
	}
	row->stacks++;
	add_figures(&row->figures, &site->figures);
}

/* `only`: of one function, its group; UINT32_MAX: of all. */
static void build_rows(struct ranking *r, const struct ranking_request *request, uint32_t only)
{
	const struct model *m = request->model;
	const struct profile *p = model_get_profile(m);
	bool *taken = list_taken(request);
	struct model_stack stack = {0};
	struct map index = {0};

	for (uint32_t i = 0; i < p->sites.count; i++) {
		struct ranking_row row = {.site = i, .figures = get_figures(request, i)};

		if (is_idle(&row.figures))
			continue;
		model_get_stack(m, i, &stack);
		row.frame = stack.frames.at[0];
		uint32_t group = model_get_frame(m, row.frame)->group;
		if (!is_taken(taken, &stack) || (only != UINT32_MAX && group != only))
			continue;
		bool alone = request->by_stack || only != UINT32_MAX;
		add_to_row(find_row(r, &index, alone ? i : group), &row, request->key);
	}
	vec_free(&stack.frames);
	map_free(&index);
	free(taken);
}

static void build(struct ranking *r, const struct ranking_request *request, uint32_t only)
{
	const struct profile *p = model_get_profile(request->model);
	bool is_known = is_base_of(request->before, p);

	*r = (struct ranking){0};
	r->span_ns = p->run.duration_ns - (is_known ? request->before->time_ns : 0);
	r->whole = get_whole(request);
	build_rows(r, request, only);
	sort(r, request->key);
}

void ranking_build(struct ranking *r, const struct ranking_request *request)
{
	build(r, request, UINT32_MAX);
}

void ranking_build_stacks(struct ranking *r, const struct ranking_request *request, uint32_t site)
{
	struct model_stack stack = {0};

	model_get_stack(request->model, site, &stack);
	uint32_t group = model_get_frame(request->model, stack.frames.at[0])->group;
	vec_free(&stack.frames);
	build(r, request, group);
}

void ranking_free(struct ranking *r)
{
	vec_free(&r->rows);
	*r = (struct ranking){0};
}
