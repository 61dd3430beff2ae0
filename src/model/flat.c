/* flat.c -- one row per function: what it allocated itself, and what it and all it called
 * allocated. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/flat.h"

struct counter {
	struct amount self;
	struct amount total;
	size_t last_site; /* + 1: the site that was added to `total` last, so that recursion counts
			     once */
};

static void add_stack(const struct model *m, struct counter *counters, size_t site,
		      const struct model_stack *stack, struct amount amount)
{
	for (size_t i = 0; i < stack->frames.count; i++) {
		struct counter *c = &counters[model_get_frame(m, stack->frames.at[i])->group];
		if (i == 0)
			c->self = amount_plus(c->self, amount);
		if (c->last_site == site + 1)
			continue;
		c->last_site = site + 1;
		c->total = amount_plus(c->total, amount);
	}
}

static int compare_amounts(struct amount a, struct amount b)
{
	if (a.bytes != b.bytes)
		return a.bytes > b.bytes ? -1 : 1;
	return (a.blocks < b.blocks) - (a.blocks > b.blocks);
}

static int compare_rows_by_bytes(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;
	int order = compare_amounts(a->self, b->self);

	if (order == 0)
		order = compare_amounts(a->total, b->total);
	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

static int compare_rows_by_blocks(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;

	if (a->self.blocks != b->self.blocks)
		return a->self.blocks > b->self.blocks ? -1 : 1;
	if (a->total.blocks != b->total.blocks)
		return a->total.blocks > b->total.blocks ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static void list_rows(struct flat *f, const struct counter *counters)
{
	size_t count = model_get_frame_count(f->model);

	for (uint32_t i = 0; i < count; i++)
		if (counters[i].last_site)
			*vec_push(&f->rows) =
				(struct flat_row){i, counters[i].self, counters[i].total};
	if (f->rows.count)
		qsort(f->rows.at, f->rows.count, sizeof(*f->rows.at),
		      figure_is_count(f->figure) ? compare_rows_by_blocks : compare_rows_by_bytes);
}

struct flat *flat_build(const struct model *m, enum figure figure)
{
	const struct profile *p = model_get_profile(m);
	struct flat *f = mem_new(1, sizeof(*f));
	struct counter *counters = mem_new(model_get_frame_count(m), sizeof(*counters));
	struct model_stack stack = {0};

	f->model = m;
	f->figure = figure;
	for (size_t i = 0; i < p->sites.count; i++) {
		struct amount amount = figure_get(&p->sites.at[i], figure);
		if (amount_is_zero(amount))
			continue;
		model_get_stack(m, i, &stack);
		add_stack(m, counters, i, &stack, amount);
		f->whole = amount_plus(f->whole, amount);
	}
	list_rows(f, counters);
	free(counters);
	vec_free(&stack.frames);
	return f;
}

void flat_free(struct flat *f)
{
	if (!f)
		return;
	vec_free(&f->rows);
	free(f);
}
