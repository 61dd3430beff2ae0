/* by_thread.c -- a figure thread by thread, as the table of threads has it. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/by_thread.h"

bool by_thread_is_possible(enum figure f)
{
	return f != FIGURE_LIVE && f != FIGURE_GROWTH;
}

static struct amount get_amount(const struct profile_thread *t, enum figure f)
{
	switch (f) {
	case FIGURE_PEAK:
		return (struct amount){t->at_peak_bytes, t->at_peak_blocks};
	case FIGURE_LEAKED:
		return (struct amount){t->live_bytes, t->live_blocks};
	case FIGURE_TEMPORARY:
		return (struct amount){0, t->temporary};
	case FIGURE_OWN_PEAK:
		return (struct amount){t->own_peak_bytes, 0};
	case FIGURE_REALLOC:
		return (struct amount){0, t->reallocations};
	default:
		return (struct amount){t->allocated_bytes, t->allocations};
	}
}

static int compare_serials(const struct by_thread_row *a, const struct by_thread_row *b)
{
	return (a->thread->serial > b->thread->serial) - (a->thread->serial < b->thread->serial);
}

static int compare_by_bytes(const void *left, const void *right)
{
	const struct by_thread_row *a = left, *b = right;

	if (a->amount.bytes != b->amount.bytes)
		return a->amount.bytes > b->amount.bytes ? -1 : 1;
	return compare_serials(a, b);
}

static int compare_by_blocks(const void *left, const void *right)
{
	const struct by_thread_row *a = left, *b = right;

	if (a->amount.blocks != b->amount.blocks)
		return a->amount.blocks > b->amount.blocks ? -1 : 1;
	return compare_serials(a, b);
}

void by_thread_build(struct by_thread *b, const struct profile *p, enum figure f,
		     const struct filter *filter)
{
	*b = (struct by_thread){0};
	for (size_t i = 0; i < p->threads.count; i++) {
		const struct profile_thread *t = &p->threads.at[i];
		struct amount amount = get_amount(t, f);
		b->whole = amount_plus(b->whole, amount);
		if (filter && !filter_has_thread(filter, p, t))
			continue;
		*vec_push(&b->rows) = (struct by_thread_row){t, amount};
		b->kept = amount_plus(b->kept, amount);
	}
	if (b->rows.count)
		qsort(b->rows.at, b->rows.count, sizeof(*b->rows.at),
		      figure_is_count(f) ? compare_by_blocks : compare_by_bytes);
}
