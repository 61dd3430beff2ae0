/* merge_depths.c -- the deepest stacks of several recordings in one profile. Runs: offline; called
 * by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_depths.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/merge_threads.h"

/* The rows of one thread, which follow each other. */
struct stack {
	const struct profile_depth *rows;
	size_t count;
	uint64_t bytes;
	uint32_t thread;
};

/* The stack that begins at row `first`. */
static struct stack read_stack(const struct profile *p, size_t first)
{
	struct stack s = {.rows = &p->depths.at[first], .thread = p->depths.at[first].thread};

	for (size_t i = first; i < p->depths.count && p->depths.at[i].thread == s.thread; i++) {
		s.count++;
		s.bytes += p->depths.at[i].bytes;
	}
	return s;
}

/* The one that a thread of the merged profile has; none: no rows. */
static struct stack find_stack(const struct profile *p, uint32_t thread)
{
	for (size_t i = 0; i < p->depths.count; i++)
		if (p->depths.at[i].thread == thread)
			return read_stack(p, i);
	return (struct stack){0};
}

static void remove_stack(struct profile *p, uint32_t thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->depths.count; i++)
		if (p->depths.at[i].thread != thread)
			p->depths.at[kept++] = p->depths.at[i];
	p->depths.count = kept;
}

static void add_stack(struct profile *to, const struct stack *from, const struct remap_table *table)
{
	for (size_t i = 0; i < from->count; i++)
		*vec_push(&to->depths) =
			(struct profile_depth){.thread = from->thread,
					       .node = table->nodes[from->rows[i].node],
					       .bytes = from->rows[i].bytes};
}

void merge_depths_add(struct profile *to, const struct profile *p, const struct remap_table *table,
		      struct map *serials)
{
	struct stack next;

	for (size_t i = 0; i < p->depths.count; i += next.count) {
		next = read_stack(p, i);
		struct stack s = next;
		s.thread = merge_threads_find(serials, s.thread);
		/* With sums every thread is one of its own. */
		bool all = to->run.merge == PROFILE_MERGE_SUM;
		uint64_t known = all ? 0 : find_stack(to, s.thread).bytes;
		if (!s.thread || (known && known >= s.bytes))
			continue;
		if (known)
			remove_stack(to, s.thread);
		add_stack(to, &s, table);
	}
}

static int compare_threads(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

void merge_depths_finish(struct profile *p)
{
	VEC(struct stack) stacks = {0};
	VEC(struct profile_depth) ordered = {0};

	for (size_t i = 0; i < p->depths.count;) {
		struct stack s = read_stack(p, i);
		*vec_push(&stacks) = s;
		i += s.count;
	}
	if (stacks.count)
		qsort(stacks.at, stacks.count, sizeof(stacks.at[0]), compare_threads);
	for (size_t i = 0; i < stacks.count; i++)
		for (size_t k = 0; k < stacks.at[i].count; k++)
			*vec_push(&ordered) = stacks.at[i].rows[k];
	vec_free(&stacks);
	vec_free(&p->depths);
	memcpy(&p->depths, &ordered, sizeof(p->depths));
}
