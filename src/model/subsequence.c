/* subsequence.c -- stacks of two profiles of which one is the other with frames left out.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/subsequence.h"

/* A stack that is looked for a partner. */
struct stack {
	uint32_t leaf; /* function */
	uint32_t part; /* index into the pairing's parts */
	uint8_t side;
};

struct candidate {
	uint32_t left_out; /* frames */
	uint32_t parts[2];
};

struct finder {
	struct pairing *pairing;
	const struct model *const *models;
	const struct match *match;
	VEC(struct stack) stacks;
	VEC(struct candidate) candidates;
	struct model_stack frames[2];
	size_t budget;
};

static const uint32_t *numbers_of(const struct finder *f, unsigned side)
{
	return f->match->numbers[side][MATCH_BARE];
}

static void get_frames(struct finder *f, unsigned side, uint32_t part)
{
	uint32_t site = f->pairing->parts[side].at[part].subject;

	model_get_stack(f->models[side], site, &f->frames[side]);
}

static void list_stacks(struct finder *f, unsigned side)
{
	const struct pairing *p = f->pairing;

	for (uint32_t i = 0; i < p->parts[side].count; i++) {
		if (p->parts[side].at[i].row)
			continue;
		get_frames(f, side, i);
		*vec_push(&f->stacks) = (struct stack){
			.leaf = numbers_of(f, side)[f->frames[side].frames.at[0]],
			.part = i,
			.side = (uint8_t)side,
		};
	}
}

static int compare_stacks(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

/* True if all functions of the shorter stack are on the longer one in the same order. */
static bool is_part_of(const struct finder *f, unsigned shorter)
{
	const struct model_stack *a = &f->frames[shorter], *b = &f->frames[!shorter];
	size_t found = 0;

	for (size_t i = 0; i < b->frames.count && found < a->frames.count; i++)
		found += numbers_of(f, !shorter)[b->frames.at[i]] ==
			 numbers_of(f, shorter)[a->frames.at[found]];
	return found == a->frames.count;
}

static void try_pair(struct finder *f, uint32_t old_part, uint32_t new_part)
{
	size_t old_count = f->frames[0].frames.count, new_count = f->frames[1].frames.count;
	unsigned shorter = old_count <= new_count ? 0 : 1;
	size_t less = shorter == 0 ? old_count : new_count;
	size_t more = shorter == 0 ? new_count : old_count;

	if (2 * less < more || !is_part_of(f, shorter))
		return;
	*vec_push(&f->candidates) =
		(struct candidate){(uint32_t)(more - less), {old_part, new_part}};
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->left_out != b->left_out)
		return a->left_out < b->left_out ? -1 : 1;
	if (a->parts[0] != b->parts[0])
		return a->parts[0] < b->parts[0] ? -1 : 1;
	return (a->parts[1] > b->parts[1]) - (a->parts[1] < b->parts[1]);
}

static void join_candidates(struct finder *f)
{
	struct pairing *p = f->pairing;

	if (f->candidates.count)
		qsort(f->candidates.at, f->candidates.count, sizeof(*f->candidates.at),
		      compare_candidates);
	for (size_t i = 0; i < f->candidates.count; i++) {
		const uint32_t *parts = f->candidates.at[i].parts;
		if (!p->parts[0].at[parts[0]].row && !p->parts[1].at[parts[1]].row)
			pairing_join(p, parts[0], parts[1]);
	}
	f->candidates.count = 0;
}

/* The stacks of one allocating function, the old ones first. */
static void try_group(struct finder *f, const struct stack *stacks, size_t old_count,
		      size_t new_count)
{
	size_t tries = old_count * new_count;

	if (!old_count || !new_count || new_count > SUBSEQUENCE_GROUP / old_count ||
	    tries > f->budget)
		return;
	f->budget -= tries;
	for (size_t i = 0; i < old_count; i++) {
		get_frames(f, 0, stacks[i].part);
		for (size_t k = old_count; k < old_count + new_count; k++) {
			get_frames(f, 1, stacks[k].part);
			try_pair(f, stacks[i].part, stacks[k].part);
		}
	}
	join_candidates(f);
}

void subsequence_pair(struct pairing *p, const struct model *const models[2],
		      const struct match *match)
{
	struct finder f = {
		.pairing = p, .models = models, .match = match, .budget = SUBSEQUENCE_BUDGET};

	list_stacks(&f, 0);
	list_stacks(&f, 1);
	if (f.stacks.count)
		qsort(f.stacks.at, f.stacks.count, sizeof(*f.stacks.at), compare_stacks);
	for (size_t i = 0, end; i < f.stacks.count; i = end) {
		size_t old_count = 0;
		for (end = i; end < f.stacks.count && f.stacks.at[end].leaf == f.stacks.at[i].leaf;
		     end++)
			old_count += f.stacks.at[end].side == 0;
		try_group(&f, f.stacks.at + i, old_count, end - i - old_count);
	}
	vec_free(&f.stacks);
	vec_free(&f.candidates);
	vec_free(&f.frames[0].frames);
	vec_free(&f.frames[1].frames);
}
