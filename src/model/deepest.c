/* deepest.c -- the functions that threads were in when their stacks were deepest. Runs: offline;
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/deepest.h"

#include <stdlib.h>

static const struct profile_thread *find_thread(const struct profile *p, uint32_t serial)
{
	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.at[i].serial == serial)
			return &p->threads.at[i];
	return NULL;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct deepest_stack *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->thread->serial > b->thread->serial) - (a->thread->serial < b->thread->serial);
}

/* What was inlined has no stack of its own: the function around it. */
static uint32_t get_frame(const struct model *m, uint32_t node, struct model_stack *scratch)
{
	model_get_node(m, node, scratch);
	return scratch->frames.at[scratch->frames.count - 1];
}

static bool is_same(const struct model *m, uint32_t a, uint32_t b)
{
	return model_get_frame(m, a)->group == model_get_frame(m, b)->group;
}

static void add_row(struct deepest *d, const struct model *m, bool fold,
		    const struct deepest_row *row)
{
	struct deepest_stack *s = &d->stacks.at[d->stacks.count - 1];
	struct deepest_row *last = s->count ? &d->rows.at[d->rows.count - 1] : NULL;

	s->bytes += row->bytes;
	if (last && fold && is_same(m, last->frame, row->frame)) {
		last->frame = row->frame;
		last->calls++;
		last->bytes += row->bytes;
		return;
	}
	s->count++;
	*vec_push(&d->rows) = *row;
}

void deepest_build(struct deepest *d, const struct model *m, bool fold)
{
	const struct profile *p = model_get_profile(m);
	const struct profile_thread *thread = NULL;
	struct model_stack scratch = {0};

	for (size_t i = 0; i < p->depths.count; i++) {
		const struct profile_depth *from = &p->depths.at[i];

		if (i == 0 || from[-1].thread != from->thread) {
			thread = find_thread(p, from->thread);
			if (thread)
				*vec_push(&d->stacks) = (struct deepest_stack){
					.thread = thread, .first = d->rows.count};
		}
		const struct deepest_row row = {get_frame(m, from->node, &scratch), 1, from->bytes};
		if (thread)
			add_row(d, m, fold, &row);
	}
	vec_free(&scratch.frames);
	if (d->stacks.count)
		qsort(d->stacks.at, d->stacks.count, sizeof(d->stacks.at[0]), compare_stacks);
}

void deepest_fini(struct deepest *d)
{
	vec_free(&d->stacks);
	vec_free(&d->rows);
}
