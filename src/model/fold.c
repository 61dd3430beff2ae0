/* fold.c -- recursion in a stack, shown once. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/fold.h"

#include <string.h>

struct run {
	size_t cycle;
	size_t repeats;
};

static uint32_t group_at(const struct model *m, const struct model_stack *s, size_t i)
{
	return model_get_frame(m, s->frames.at[i])->group;
}

/* How often the `cycle` functions at `start` come one after the other. */
static size_t count_repeats(const struct model *m, const struct model_stack *s, size_t start,
			    size_t cycle)
{
	size_t same = 0;

	while (start + cycle + same < s->frames.count &&
	       group_at(m, s, start + same) == group_at(m, s, start + cycle + same))
		same++;
	return 1 + same / cycle;
}

/* The repetition at `start` that takes the most frames, of equal ones the shortest cycle. */
static struct run find_run(const struct model *m, const struct model_stack *s, size_t start)
{
	struct run best = {1, 1};

	for (size_t cycle = 1; cycle <= FOLD_CYCLE_MAX; cycle++) {
		if (start + 2 * cycle > s->frames.count)
			break;
		struct run run = {cycle, count_repeats(m, s, start, cycle)};
		if (run.repeats > 1 && run.cycle * run.repeats > best.cycle * best.repeats)
			best = run;
	}
	return best;
}

void fold_stack(const struct model *m, struct model_stack *stack, struct fold *f)
{
	size_t left = 0;

	f->marks.count = 0;
	for (size_t i = 0; i < stack->frames.count;) {
		struct run run = find_run(m, stack, i);
		memmove(&stack->frames.at[left], &stack->frames.at[i],
			run.cycle * sizeof(*stack->frames.at));
		*vec_push(&f->marks) =
			(struct fold_mark){(uint32_t)run.cycle, (uint32_t)run.repeats};
		for (size_t k = 1; k < run.cycle; k++)
			*vec_push(&f->marks) = (struct fold_mark){1, 1};
		left += run.cycle;
		i += run.cycle * run.repeats;
	}
	stack->frames.count = left;
}
