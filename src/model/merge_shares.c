/* merge_shares.c -- which thread has which share of a stack, over several recordings.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_shares.h"

#include <stddef.h>

#include "model/merge_figures.h"
#include "model/merge_threads.h"
#include "model/shares.h"

#define FURTHER_THREADS 0u	   /* those that have no share of their own */
#define WITH_OTHERS	UINT32_MAX /* the place of a thread that is one of them */

/* A figure that shares have, and where a site has it. */
struct share_figure {
	size_t in_part;
	size_t in_site;
};

#define SHARED(name)                                                                     \
	{                                                                                \
		offsetof(struct profile_part, name), offsetof(struct profile_site, name) \
	}

static const struct share_figure figures[] = {
	SHARED(allocations),	SHARED(allocated_bytes), SHARED(frees),
	SHARED(freed_bytes),	SHARED(live_blocks),	 SHARED(live_bytes),
	SHARED(at_peak_blocks), SHARED(at_peak_bytes),	 SHARED(temporary),
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static uint64_t *figure_of(struct profile_part *part, size_t figure)
{
	return (uint64_t *)(void *)((char *)part + figures[figure].in_part);
}

static uint64_t get_figure(const struct profile_part *part, size_t figure)
{
	return *(const uint64_t *)(const void *)((const char *)part + figures[figure].in_part);
}

static uint64_t get_target(const struct profile_site *site, size_t figure)
{
	return *(const uint64_t *)(const void *)((const char *)site + figures[figure].in_site);
}

void merge_shares_fini(struct merge_shares *s)
{
	vec_free(&s->all);
	vec_free(&s->first);
	vec_free(&s->own);
	map_free(&s->places);
}

static void add_up(struct profile_part *to, const struct profile_part *from)
{
	for (size_t f = 0; f < FIGURES; f++)
		*figure_of(to, f) += get_figure(from, f);
}

/* ---- the recording under way ----------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right)
{
	const struct profile_part *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Several of its sites may be one in the merged profile. */
static void join_equal(struct merge_shares *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->own.count; i++) {
		const struct profile_part *part = &s->own.at[i];
		if (kept && compare_parts(&s->own.at[kept - 1], part) == 0)
			add_up(&s->own.at[kept - 1], part);
		else
			s->own.at[kept++] = *part;
	}
	s->own.count = kept;
}

/* All of a site, where it is not known whose it is. */
static struct profile_part get_whole(const struct profile_site *site)
{
	struct profile_part part = {.thread = FURTHER_THREADS};

	for (size_t f = 0; f < FIGURES; f++)
		*figure_of(&part, f) = get_target(site, f);
	return part;
}

static void list_shares(struct merge_shares *s, const struct merge_shares_input *in)
{
	const struct profile *p = in->profile;

	s->own.count = 0;
	for (size_t i = 0; i < p->sites.count; i++) {
		size_t count = shares_get_count(p, i);
		for (size_t k = 0; k < count || k == 0; k++) {
			struct profile_part part =
				count ? shares_get(p, i, k) : get_whole(&p->sites.at[i]);
			part.site = in->sites[i];
			part.thread = merge_threads_find(in->serials, part.thread);
			*vec_push(&s->own) = part;
		}
	}
	if (s->own.count)
		qsort(s->own.at, s->own.count, sizeof(*s->own.at), compare_parts);
	join_equal(s);
}

/* ---- the merged profile ---------------------------------------------------------------------- */

static struct profile_part *push(struct merge_shares *s, uint32_t *place,
				 const struct profile_part *like)
{
	while (s->first.count <= like->site)
		*vec_push(&s->first) = 0;
	*vec_push(&s->all) = (struct merge_share){
		.part = {.site = like->site, .thread = like->thread},
		.next = s->first.at[like->site],
	};
	*place = s->first.at[like->site] = (uint32_t)s->all.count;
	return &s->all.at[s->all.count - 1].part;
}

/* The merged share that this one goes into. */
static struct profile_part *find_share(struct merge_shares *s, const struct profile_part *like)
{
	uint32_t *place = map_reserve(&s->places, (uint64_t)like->site << 32 | like->thread);
	bool full = s->all.count >= (s->most ? s->most : MERGE_SHARES_MAX);

	if (!*place && like->thread != FURTHER_THREADS && full)
		*place = WITH_OTHERS;
	if (*place == WITH_OTHERS)
		return find_share(s, &(struct profile_part){.site = like->site});
	return *place ? &s->all.at[*place - 1].part : push(s, place, like);
}

static uint32_t get_first(const struct merge_shares *s, uint32_t site)
{
	return site < s->first.count ? s->first.at[site] : 0;
}

/* Takes a figure of a site from the recording if it is larger there. */
static void take_larger(struct merge_shares *s, const struct profile_part *own, size_t count,
			size_t figure)
{
	uint64_t before = 0, now = 0;

	for (uint32_t i = get_first(s, own->site); i; i = s->all.at[i - 1].next)
		before += get_figure(&s->all.at[i - 1].part, figure);
	for (size_t k = 0; k < count; k++)
		now += get_figure(&own[k], figure);
	if (now <= before)
		return;
	for (uint32_t i = get_first(s, own->site); i; i = s->all.at[i - 1].next)
		*figure_of(&s->all.at[i - 1].part, figure) = 0;
	for (size_t k = 0; k < count; k++)
		*figure_of(find_share(s, &own[k]), figure) += get_figure(&own[k], figure);
}

static void take_maxima(struct merge_shares *s)
{
	for (size_t i = 0; i < s->own.count; i++)
		(void)find_share(s, &s->own.at[i]); /* also of what has nothing */
	for (size_t i = 0, end; i < s->own.count; i = end) {
		for (end = i + 1; end < s->own.count && s->own.at[end].site == s->own.at[i].site;)
			end++;
		for (size_t f = 0; f < FIGURES; f++)
			take_larger(s, &s->own.at[i], end - i, f);
	}
}

void merge_shares_add(struct merge_shares *s, const struct merge_shares_input *in)
{
	s->known = s->known || (in->profile->sites.count && shares_are_known(in->profile));
	list_shares(s, in);
	if (in->mode == PROFILE_MERGE_MAX) {
		take_maxima(s);
		return;
	}
	for (size_t i = 0; i < s->own.count; i++)
		add_up(find_share(s, &s->own.at[i]), &s->own.at[i]);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void divide(struct profile_part *part, uint64_t count)
{
	for (size_t f = 0; f < FIGURES; f++)
		*figure_of(part, f) = merge_figures_divide(get_figure(part, f), count);
}

/* Freed is what is not live any more, also where both come from different recordings. */
static void balance(struct profile_part *part)
{
	if (part->allocations >= part->live_blocks)
		part->frees = part->allocations - part->live_blocks;
	if (part->allocated_bytes >= part->live_bytes)
		part->freed_bytes = part->allocated_bytes - part->live_bytes;
}

/* Takes `less` off the shares, at most `each` off one; returns what is left to be taken. */
static uint64_t take_off(struct profile_part *parts, size_t count, size_t figure, uint64_t less,
			 uint64_t each)
{
	for (size_t i = 0; i < count && less; i++) {
		uint64_t *value = figure_of(&parts[i], figure);
		uint64_t now = less < each ? less : each;
		if (now > *value)
			now = *value;
		*value -= now;
		less -= now;
	}
	return less;
}

static uint64_t *find_largest(struct profile_part *parts, size_t count, size_t figure)
{
	uint64_t *largest = figure_of(parts, figure);

	for (size_t i = 1; i < count; i++)
		if (get_figure(&parts[i], figure) > *largest)
			largest = figure_of(&parts[i], figure);
	return largest;
}

/* Makes a figure of a site's shares add up to the site's. What is missing goes to the largest; of
 * what is too much, rounding is one for each, and the rest comes from figures of different
 * recordings. */
static void fit(struct profile_part *parts, size_t count, size_t figure, uint64_t target)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += get_figure(&parts[i], figure);
	if (sum < target)
		*find_largest(parts, count, figure) += target - sum;
	if (sum <= target)
		return;
	uint64_t left = take_off(parts, count, figure, sum - target, 1);
	(void)take_off(parts, count, figure, left, left);
}

static void push_shares(struct profile *out, struct profile_part *parts, size_t count)
{
	struct profile_site *site = &out->sites.at[parts->site];

	for (size_t f = 0; out->run.merge != PROFILE_MERGE_SUM && f < FIGURES; f++)
		fit(parts, count, f, get_target(site, f));
	if (count == 1 && parts->thread) {
		site->thread = parts->thread;
		return;
	}
	for (size_t i = 0; i < count; i++)
		*vec_push(&out->parts) = parts[i];
}

void merge_shares_finish(struct merge_shares *s, struct profile *out, uint64_t count)
{
	if (!s->known)
		return;
	s->own.count = 0;
	for (size_t i = 0; i < s->all.count; i++) {
		struct profile_part part = s->all.at[i].part;
		if (out->run.merge == PROFILE_MERGE_MEAN)
			divide(&part, count);
		if (out->run.merge != PROFILE_MERGE_SUM)
			balance(&part);
		*vec_push(&s->own) = part;
	}
	if (s->own.count)
		qsort(s->own.at, s->own.count, sizeof(*s->own.at), compare_parts);
	for (size_t i = 0, end; i < s->own.count; i = end) {
		for (end = i + 1; end < s->own.count && s->own.at[end].site == s->own.at[i].site;)
			end++;
		push_shares(out, &s->own.at[i], end - i);
	}
}
