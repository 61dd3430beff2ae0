/* fold.c -- recursion in a stack, shown once. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/fold.h"

#include <string.h>

struct run {
	size_t cycle;
	size_t repeats;
};

/* How often the first `cycle` of `count` functions come one after the other. */
static size_t count_repeats(const uint32_t *groups, size_t count, size_t cycle)
{
	size_t same = 0;

	while (cycle + same < count && groups[same] == groups[cycle + same])
		same++;
	return 1 + same / cycle;
}

/* The repetition at the beginning that takes the most frames, of equal ones the shortest cycle. */
static struct run find_run(const uint32_t *groups, size_t count)
{
	struct run best = {1, 1};

	for (size_t cycle = 1; cycle <= FOLD_CYCLE_MAX && 2 * cycle <= count; cycle++) {
		if (groups[cycle] != groups[0])
			continue;
		struct run run = {cycle, count_repeats(groups, count, cycle)};
		if (run.repeats > 1 && run.cycle * run.repeats > best.cycle * best.repeats)
			best = run;
	}
	return best;
}

static uint32_t *list_group_of(const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint32_t *group_of = mem_new(count, sizeof(*group_of));

	for (uint32_t i = 0; i < count; i++)
		group_of[i] = model_get_frame(m, i)->group;
	return group_of;
}

/* Lists the functions of a stack; true if one of them may come again within a cycle. Most stacks
 * have no recursion, and this is all that is done about them. */
static bool list_groups(const struct model *m, const struct model_stack *stack, struct fold *f)
{
	bool again = false;

	if (!f->group_of)
		f->group_of = list_group_of(m);
	f->groups.count = 0;
	vec_reserve(&f->groups, stack->frames.count);
	f->number += FOLD_CYCLE_MAX + 1; /* further from the stack before than any cycle is long */
	for (size_t i = 0; i < stack->frames.count; i++) {
		uint32_t group = f->group_of[stack->frames.at[i]];
		uint32_t *seen = &f->seen[group % FOLD_PLACES];
		again = again || f->number - *seen <= FOLD_CYCLE_MAX;
		*seen = f->number++;
		f->groups.at[i] = group;
	}
	return again;
}

static void mark_run(struct fold *f, struct run run)
{
	*vec_push(&f->marks) = (struct fold_mark){(uint32_t)run.cycle, (uint32_t)run.repeats};
	for (size_t k = 1; k < run.cycle; k++)
		*vec_push(&f->marks) = (struct fold_mark){1, 1};
}

void fold_stack(const struct model *m, struct model_stack *stack, struct fold *f)
{
	size_t count = stack->frames.count, left = 0;

	f->marks.count = 0;
	f->any = false;
	if (!list_groups(m, stack, f))
		return;
	for (size_t i = 0; i < count;) {
		struct run run = find_run(&f->groups.at[i], count - i);
		memmove(&stack->frames.at[left], &stack->frames.at[i],
			run.cycle * sizeof(*stack->frames.at));
		mark_run(f, run);
		f->any = f->any || run.repeats > 1;
		left += run.cycle;
		i += run.cycle * run.repeats;
	}
	stack->frames.count = left;
}

struct fold_mark fold_get_mark(const struct fold *f, size_t place)
{
	return f->any ? f->marks.at[place] : (struct fold_mark){1, 1};
}

void fold_free(struct fold *f)
{
	vec_free(&f->marks);
	vec_free(&f->groups);
	free(f->group_of);
	f->group_of = NULL;
}
