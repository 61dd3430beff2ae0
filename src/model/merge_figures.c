/* merge_figures.c -- how the figures of several recordings become one: sum, maximum or mean.
 * Runs: offline, pure; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_figures.h"

#include <math.h>
#include <stddef.h>

#include "base/whole.h"

enum rule {
	RULE_END, /* of a list */
	RULE_ADD, /* as the mode says */
	RULE_LOSS,
	RULE_LEAST,
	RULE_MOST,
	RULE_DOUBT, /* a standard deviation: the squares add up */
};

/* A uint64_t member of a structure. */
struct member {
	size_t offset;
	enum rule rule;
};

#define ADD(type, name)                               \
	{                                             \
		offsetof(struct type, name), RULE_ADD \
	}
#define DOUBT(type, name)                               \
	{                                               \
		offsetof(struct type, name), RULE_DOUBT \
	}
#define LOSS(type, name)                               \
	{                                              \
		offsetof(struct type, name), RULE_LOSS \
	}
#define LEAST(type, name)                               \
	{                                               \
		offsetof(struct type, name), RULE_LEAST \
	}
#define MOST(type, name)                               \
	{                                              \
		offsetof(struct type, name), RULE_MOST \
	}
#define END                 \
	{                   \
		0, RULE_END \
	}

/* clang-format off */
static const struct member site_members[] = {
	ADD(profile_site, allocations),
	ADD(profile_site, allocated_bytes),
	ADD(profile_site, frees),
	ADD(profile_site, freed_bytes),
	LEAST(profile_site, size_min),
	MOST(profile_site, size_max),
	ADD(profile_site, live_blocks),
	ADD(profile_site, live_bytes),
	ADD(profile_site, at_peak_blocks),
	ADD(profile_site, at_peak_bytes),
	ADD(profile_site, own_peak_bytes),
	LEAST(profile_site, lifetime_min_ns),
	MOST(profile_site, lifetime_max_ns),
	ADD(profile_site, lifetime_sum_ns),
	ADD(profile_site, temporary),
	ADD(profile_site, reallocations),
	DOUBT(profile_site, allocated_doubt.bytes),
	DOUBT(profile_site, allocated_doubt.milliblocks),
	DOUBT(profile_site, live_doubt.bytes),
	DOUBT(profile_site, live_doubt.milliblocks),
	DOUBT(profile_site, at_peak_doubt.bytes),
	DOUBT(profile_site, at_peak_doubt.milliblocks),
	DOUBT(profile_site, temporary_doubt),
	END,
};

static const struct member thread_members[] = {
	LEAST(profile_thread, start_ns),
	MOST(profile_thread, end_ns),
	ADD(profile_thread, allocations),
	ADD(profile_thread, allocated_bytes),
	ADD(profile_thread, frees),
	ADD(profile_thread, freed_bytes),
	ADD(profile_thread, temporary),
	ADD(profile_thread, reallocations),
	ADD(profile_thread, failed_allocations),
	ADD(profile_thread, live_blocks),
	ADD(profile_thread, live_bytes),
	ADD(profile_thread, own_peak_bytes),
	ADD(profile_thread, at_peak_bytes),
	ADD(profile_thread, at_peak_blocks),
	LEAST(profile_thread, lifetime_min_ns),
	MOST(profile_thread, lifetime_max_ns),
	ADD(profile_thread, lifetime_sum_ns),
	LEAST(profile_thread, size_min),
	MOST(profile_thread, size_max),
	LOSS(profile_thread, losses),
	MOST(profile_thread, stack_reserved_bytes),
	MOST(profile_thread, stack_resident_bytes),
	MOST(profile_thread, stack_deepest_bytes),
	END,
};

static const struct member totals_members[] = {
	ADD(profile_totals, allocations),
	ADD(profile_totals, frees),
	ADD(profile_totals, allocated_bytes),
	ADD(profile_totals, freed_bytes),
	ADD(profile_totals, peak_bytes),
	ADD(profile_totals, peak_blocks),
	ADD(profile_totals, leaked_bytes),
	ADD(profile_totals, leaked_blocks),
	ADD(profile_totals, temporary_allocations),
	ADD(profile_totals, reallocations),
	ADD(profile_totals, failed_allocations),
	ADD(profile_totals, threads),
	ADD(profile_totals, rss_peak_bytes),
	ADD(profile_totals, own_memory_bytes),
	LOSS(profile_totals, lost_events),
	LOSS(profile_totals, truncated_stacks),
	LOSS(profile_totals, unwind_failures),
	LOSS(profile_totals, foreign_frees),
	LOSS(profile_totals, reentrant_calls),
	LOSS(profile_totals, trace_lost_events),
	LOSS(profile_totals, lost_snapshots),
	LOSS(profile_totals, untracked_frees),
	ADD(profile_totals, api_calls[0]),
	ADD(profile_totals, api_calls[1]),
	ADD(profile_totals, api_calls[2]),
	ADD(profile_totals, api_calls[3]),
	ADD(profile_totals, api_calls[4]),
	ADD(profile_totals, api_calls[5]),
	ADD(profile_totals, api_calls[6]),
	ADD(profile_totals, api_calls[7]),
	ADD(profile_totals, arena_bytes),
	ADD(profile_totals, arena_peak_bytes),
	ADD(profile_totals, small_bytes),
	ADD(profile_totals, small_peak_bytes),
	END,
};

static const struct member point_members[] = {
	ADD(profile_point, live_bytes),
	ADD(profile_point, live_blocks),
	ADD(profile_point, peak_bytes),
	ADD(profile_point, allocations),
	ADD(profile_point, allocated_bytes),
	ADD(profile_point, frees),
	ADD(profile_point, freed_bytes),
	ADD(profile_point, rss_bytes),
	ADD(profile_point, mapped_bytes),
	ADD(profile_point, mapped_count),
	ADD(profile_point, mapped_peak_bytes),
	END,
};

static const struct member bucket_members[] = {
	ADD(profile_bucket, count),
	ADD(profile_bucket, bytes),
	ADD(profile_bucket, live_count),
	ADD(profile_bucket, live_bytes),
	END,
};
/* clang-format on */

static uint64_t *member_of(void *object, const struct member *m)
{
	return (uint64_t *)(void *)((char *)object + m->offset);
}

static uint64_t get_member(const void *object, const struct member *m)
{
	return *(const uint64_t *)(const void *)((const char *)object + m->offset);
}

uint64_t merge_figures_value(uint64_t to, uint64_t from, enum profile_merge mode)
{
	if (mode == PROFILE_MERGE_MAX)
		return from > to ? from : to;
	return to + from;
}

static uint64_t merge_doubts(uint64_t to, uint64_t from)
{
	return whole_get(hypot((double)to, (double)from) + 0.5);
}

static void combine(void *to, const void *from, const struct member *m, enum profile_merge mode)
{
	for (; m->rule != RULE_END; m++) {
		uint64_t *a = member_of(to, m);
		uint64_t b = get_member(from, m);
		if (m->rule == RULE_LEAST)
			*a = b < *a ? b : *a;
		else if (m->rule == RULE_MOST)
			*a = b > *a ? b : *a;
		else if (m->rule == RULE_DOUBT && mode != PROFILE_MERGE_MAX)
			*a = merge_doubts(*a, b);
		else
			*a = merge_figures_value(*a, b, mode);
	}
}

void merge_figures_site(struct profile_site *to, const struct profile_site *from,
			enum profile_merge mode)
{
	combine(to, from, site_members, mode);
}

void merge_figures_thread(struct profile_thread *to, const struct profile_thread *from,
			  enum profile_merge mode)
{
	combine(to, from, thread_members, mode);
}

void merge_figures_totals(struct profile_totals *to, const struct profile_totals *from,
			  enum profile_merge mode)
{
	combine(to, from, totals_members, mode);
}

void merge_figures_point(struct profile_point *to, const struct profile_point *from,
			 enum profile_merge mode)
{
	combine(to, from, point_members, mode);
}

void merge_figures_histograms(struct profile *to, const struct profile *from,
			      enum profile_merge mode)
{
	for (size_t i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		combine(&to->sizes[i], &from->sizes[i], bucket_members, mode);
		for (size_t k = 0; k < PROFILE_LIFE_BUCKETS; k++)
			to->size_by_life[i][k] = merge_figures_value(
				to->size_by_life[i][k], from->size_by_life[i][k], mode);
	}
}

/* ---- means ----------------------------------------------------------------------------------- */

uint64_t merge_figures_divide(uint64_t sum, uint64_t count)
{
	return sum / count + (sum % count >= count - count / 2);
}

static void divide(void *object, const struct member *m, uint64_t count)
{
	for (; m->rule != RULE_END; m++) {
		uint64_t *value = member_of(object, m);
		if (m->rule == RULE_ADD || m->rule == RULE_DOUBT)
			*value = merge_figures_divide(*value, count);
		else if (m->rule == RULE_LOSS)
			*value = *value / count + (*value % count != 0);
	}
}

void merge_figures_divide_site(struct profile_site *s, uint64_t count)
{
	divide(s, site_members, count);
}

void merge_figures_divide_thread(struct profile_thread *t, uint64_t count)
{
	divide(t, thread_members, count);
}

void merge_figures_divide_totals(struct profile_totals *t, uint64_t count)
{
	divide(t, totals_members, count);
}

void merge_figures_divide_point(struct profile_point *p, uint64_t count)
{
	divide(p, point_members, count);
}

void merge_figures_divide_histograms(struct profile *p, uint64_t count)
{
	for (size_t i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		divide(&p->sizes[i], bucket_members, count);
		for (size_t k = 0; k < PROFILE_LIFE_BUCKETS; k++)
			p->size_by_life[i][k] = merge_figures_divide(p->size_by_life[i][k], count);
	}
}

/* ---- what adds up ---------------------------------------------------------------------------- */

void merge_figures_balance(struct profile_site *s)
{
	if (s->allocations >= s->live_blocks)
		s->frees = s->allocations - s->live_blocks;
	if (s->allocated_bytes >= s->live_bytes)
		s->freed_bytes = s->allocated_bytes - s->live_bytes;
}

static void add_stack(struct profile_totals *sum, const struct profile_site *s)
{
	sum->allocations += s->allocations;
	sum->frees += s->frees;
	sum->allocated_bytes += s->allocated_bytes;
	sum->freed_bytes += s->freed_bytes;
	sum->peak_bytes += s->at_peak_bytes;
	sum->peak_blocks += s->at_peak_blocks;
	sum->leaked_bytes += s->live_bytes;
	sum->leaked_blocks += s->live_blocks;
	sum->temporary_allocations += s->temporary;
	sum->reallocations += s->reallocations;
}

static struct profile_totals sum_stacks(const struct profile *p)
{
	struct profile_totals sum = {0};

	for (size_t i = 0; i < p->sites.count; i++)
		add_stack(&sum, &p->sites.at[i]);
	return sum;
}

struct profile_totals merge_figures_rest(const struct profile *p)
{
	struct profile_totals rest = p->totals, sum = sum_stacks(p);

	for (const struct member *m = totals_members; m->rule != RULE_END; m++) {
		uint64_t *value = member_of(&rest, m);
		uint64_t stacks = get_member(&sum, m);
		*value = *value > stacks ? *value - stacks : 0;
	}
	return rest;
}

void merge_figures_total_up(struct profile *p, const struct profile_totals *rest)
{
	struct profile_totals sum = sum_stacks(p);

	p->totals = *rest;
	merge_figures_totals(&p->totals, &sum, PROFILE_MERGE_SUM);
}

void merge_figures_total(struct profile_totals *t, const struct profile_site *sites, size_t count)
{
	t->allocations = t->allocated_bytes = t->frees = t->freed_bytes = 0;
	t->peak_bytes = t->peak_blocks = t->leaked_bytes = t->leaked_blocks = 0;
	t->reallocations = 0;
	for (size_t i = 0; i < count; i++) {
		const struct profile_site *site = &sites[i];

		t->allocations += site->allocations;
		t->allocated_bytes += site->allocated_bytes;
		t->frees += site->frees;
		t->freed_bytes += site->freed_bytes;
		t->peak_bytes += site->at_peak_bytes;
		t->peak_blocks += site->at_peak_blocks;
		t->leaked_bytes += site->live_bytes;
		t->leaked_blocks += site->live_blocks;
		t->reallocations += site->reallocations;
	}
}
