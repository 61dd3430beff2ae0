/* by_thread.c -- a figure thread by thread, as the table of threads has it. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/by_thread.h"

#include "model/shares.h"

bool by_thread_is_possible(enum figure f)
{
	return f != FIGURE_LIVE && f != FIGURE_GROWTH;
}

bool by_thread_has_shares(const struct profile *p, enum figure f)
{
	return f < FIGURE_KINDS && shares_are_known(p);
}

static struct amount get_amount(const struct profile_thread *t, enum figure f)
{
	switch (f) {
	case FIGURE_PEAK:
		return (struct amount){.bytes = t->at_peak_bytes, .blocks = t->at_peak_blocks};
	case FIGURE_LEAKED:
		return (struct amount){.bytes = t->live_bytes, .blocks = t->live_blocks};
	case FIGURE_TEMPORARY:
		return (struct amount){.bytes = 0, .blocks = t->temporary};
	case FIGURE_OWN_PEAK:
		return (struct amount){.bytes = t->own_peak_bytes, .blocks = 0};
	case FIGURE_REALLOC:
		return (struct amount){.bytes = 0, .blocks = t->reallocations};
	default:
		return (struct amount){.bytes = t->allocated_bytes, .blocks = t->allocations};
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

/* Allocations are counted for each thread; the rest are estimates where blocks were sampled. */
static struct amount get_estimate(const struct profile *p, const struct profile_thread *t,
				  enum figure f)
{
	struct amount a = get_amount(t, f);
	bool counted = f == FIGURE_REALLOC ||
		       ((f == FIGURE_ALLOCATED || f == FIGURE_CALLS) && figure_is_total_counted(p));

	return p->run.sample_period && !counted ? figure_bound(p, a) : a;
}

/* By serial: what each thread has of the sites that are kept. */
static struct amount *sum_shares(const struct profile *p, enum figure f, const uint8_t *verdicts)
{
	struct amount *sums = mem_new(p->threads.count + 1, sizeof(*sums));

	for (size_t i = 0; i < p->sites.count; i++) {
		size_t count = verdicts[i] == FILTER_KEPT ? shares_get_count(p, i) : 0;
		for (size_t k = 0; k < count; k++) {
			struct profile_part share = shares_get(p, i, k);
			if (share.thread > p->threads.count)
				continue;
			struct amount amount = shares_get_amount(&share, f);
			if (p->run.sample_period)
				amount = figure_bound_site(p, i, amount);
			sums[share.thread] = amount_plus(sums[share.thread], amount);
		}
	}
	return sums;
}

void by_thread_build(struct by_thread *b, const struct profile *p, enum figure f,
		     const struct filter *filter, const uint8_t *verdicts)
{
	struct amount *sums = verdicts ? sum_shares(p, f, verdicts) : NULL;

	*b = (struct by_thread){0};
	for (size_t i = 0; i < p->threads.count; i++) {
		const struct profile_thread *t = &p->threads.at[i];
		struct amount amount = get_estimate(p, t, f);
		b->whole = amount_plus(b->whole, amount);
		if (sums)
			amount = t->serial <= p->threads.count ? sums[t->serial]
							       : (struct amount){0};
		if (filter && !filter_has_thread(filter, p, t))
			continue;
		*vec_push(&b->rows) = (struct by_thread_row){t, amount};
		b->kept = amount_plus(b->kept, amount);
	}
	free(sums);
	if (b->rows.count)
		qsort(b->rows.at, b->rows.count, sizeof(*b->rows.at),
		      figure_is_count(f) ? compare_by_blocks : compare_by_bytes);
}
