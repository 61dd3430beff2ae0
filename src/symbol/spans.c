/* spans.c -- address ranges, made disjoint once and then searched.
 * Runs: offline; used by all tables of this room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/spans.h"

#include "base/radix.h"

/* Ranges that were opened and not yet closed, innermost last, and where the cutting has got to. */
struct sweep {
	VEC(struct span) open;
	struct spans flat;
	uint64_t at;
};

void spans_add(struct spans *s, struct span span)
{
	if (span.low < span.high)
		*vec_push(&s->list) = span;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Outer before inner; the item settles the rest, so that the result does not depend on qsort. */
static int by_start(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	int order = compare(a->low, b->low);

	if (!order)
		order = compare(a->depth, b->depth);
	if (!order)
		order = compare(b->high, a->high);
	if (!order)
		order = compare(a->item, b->item);
	return order;
}

static void emit(struct sweep *w, uint64_t high, const struct span *top)
{
	if (w->at < high)
		*vec_push(&w->flat.list) = (struct span){w->at, high, top->item, top->depth};
	if (w->at < high)
		w->at = high;
}

/* Hands out the addresses below `limit` to the open ranges and closes those that end there. */
static void advance(struct sweep *w, uint64_t limit)
{
	while (w->open.count) {
		const struct span *top = &w->open.at[w->open.count - 1];

		if (top->high > limit) {
			emit(w, limit, top);
			return;
		}
		emit(w, top->high, top);
		w->open.count--;
	}
}

/* By address, and then those few that start at one. */
static void sort(struct spans *s)
{
	size_t first = 0;

	radix_sort(s->list.at, s->list.count, sizeof(*s->list.at), offsetof(struct span, low));
	for (size_t i = 1; i <= s->list.count; i++) {
		if (i < s->list.count && s->list.at[i].low == s->list.at[first].low)
			continue;
		if (i - first > 1)
			qsort(s->list.at + first, i - first, sizeof(*s->list.at), by_start);
		first = i;
	}
}

void spans_flatten(struct spans *s)
{
	struct sweep w = {0};

	if (!s->list.count)
		return;
	sort(s);
	vec_reserve(&w.flat.list, s->list.count);
	for (size_t i = 0; i < s->list.count; i++) {
		advance(&w, s->list.at[i].low);
		w.at = s->list.at[i].low;
		*vec_push(&w.open) = s->list.at[i];
	}
	advance(&w, UINT64_MAX);
	vec_free(&w.open);
	spans_free(s);
	*s = w.flat;
}

const struct span *spans_find(const struct spans *s, uint64_t address)
{
	size_t low = 0, high = s->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list.at[middle].high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->list.count || s->list.at[low].low > address)
		return NULL;
	return &s->list.at[low];
}

void spans_free(struct spans *s)
{
	vec_free(&s->list);
}
