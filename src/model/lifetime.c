/* lifetime.c -- how long blocks lived, by who allocated them. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/lifetime.h"

#include "model/filter.h"

uint64_t lifetime_get_mean(const struct lifetime_row *row)
{
	return row->freed ? row->sum_ns / row->freed : 0;
}

static void add_site(struct lifetime_row *row, const struct profile_site *s)
{
	row->freed += s->frees;
	row->freed_bytes += s->freed_bytes;
	row->kept += s->live_blocks;
	row->sum_ns += s->lifetime_sum_ns;
	if (s->lifetime_min_ns < row->min_ns)
		row->min_ns = s->lifetime_min_ns;
	if (s->lifetime_max_ns > row->max_ns)
		row->max_ns = s->lifetime_max_ns;
}

static int compare_longest(const void *left, const void *right)
{
	const struct lifetime_row *a = left, *b = right;
	uint64_t one = lifetime_get_mean(a), other = lifetime_get_mean(b);

	if (one != other)
		return one > other ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static int compare_shortest(const void *left, const void *right)
{
	const struct lifetime_row *a = left, *b = right;
	uint64_t one = lifetime_get_mean(a), other = lifetime_get_mean(b);

	if (one != other)
		return one < other ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

/* One line may be in many functions, the instances of a template: it is named by the one that has
 * most of it. `freed` is by frame. */
static void name_lines(struct lifetime_row *rows, const uint32_t *keys, const uint64_t *freed,
		       size_t frames)
{
	for (uint32_t i = 0; i < frames; i++) {
		struct lifetime_row *row = &rows[keys[i]];
		if (freed[i] > freed[row->frame])
			row->frame = i;
	}
}

static struct lifetime_row *count_sites(struct lifetimes *l, const uint8_t *verdicts)
{
	const struct profile *p = model_get_profile(l->model);
	size_t frames = model_get_frame_count(l->model);
	uint32_t *keys = flat_list_keys(l->model, l->key);
	uint64_t *freed = mem_new(frames, sizeof(*freed));
	struct lifetime_row *rows = mem_new(frames, sizeof(*rows));
	struct model_stack stack = {0};

	for (uint32_t i = 0; i < frames; i++)
		rows[i] = (struct lifetime_row){.frame = i, .min_ns = UINT64_MAX};
	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		if (verdicts && verdicts[i] != FILTER_KEPT)
			continue;
		if (s->frees == 0) {
			l->never_freed += s->live_blocks;
			l->never_freed_sites += s->live_blocks != 0;
			continue;
		}
		model_get_stack(l->model, i, &stack);
		add_site(&rows[keys[stack.frames.at[0]]], s);
		freed[stack.frames.at[0]] += s->frees;
		add_site(&l->whole, s);
	}
	if (l->key == FLAT_BY_LINE)
		name_lines(rows, keys, freed, frames);
	vec_free(&stack.frames);
	free(freed);
	free(keys);
	return rows;
}

struct lifetimes *lifetime_build(const struct model *m, enum flat_key key, const uint8_t *verdicts,
				 bool shortest_first)
{
	struct lifetimes *l = mem_new(1, sizeof(*l));

	*l = (struct lifetimes){.model = m, .key = key, .whole = {.min_ns = UINT64_MAX}};
	struct lifetime_row *rows = count_sites(l, verdicts);
	for (size_t i = 0; i < model_get_frame_count(m); i++)
		if (rows[i].freed)
			*vec_push(&l->rows) = rows[i];
	free(rows);
	if (l->rows.count)
		qsort(l->rows.at, l->rows.count, sizeof(*l->rows.at),
		      shortest_first ? compare_shortest : compare_longest);
	return l;
}

void lifetime_free(struct lifetimes *l)
{
	if (!l)
		return;
	vec_free(&l->rows);
	free(l);
}
