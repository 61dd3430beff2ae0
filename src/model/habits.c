/* habits.c -- habits that show in the figures of sites alone. Runs: offline, called by findings.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/habits.h"

#include <string.h>

/* Below these a finding would not be worth a reader's time: a malloc and free take some 50 ns, so
 * 10,000 of them in a second are half a thousandth of it. */
#define CALLS_LEAST	 10000U
#define CALLS_PER_SECOND 10000U
#define CALLS_SHARE	 0.05 /* of all allocations */
#define REGROWN_LEAST	 1000U
#define REGROWN_RATIO	 8U /* largest to smallest: less is no growth to speak of */
#define REGROWN_STEPS	 4U /* of one block: fewer are no habit */
#define COPIED_BYTES	 (1U << 20)
#define COPIED_LEAST	 (64U << 10) /* in a run that is over in a moment */
#define COPIED_SHARE	 0.2	     /* of all bytes ever allocated */
#define TINY_BYTES	 64U
#define TINY_LEAST	 10000U
#define TINY_SAVED	 (64U << 10)
#define TINY_SHARE	 0.05 /* of the peak */

/* One place's sum over the sites that have a habit. */
struct tally {
	struct finding finding;
	uint64_t largest; /* calls or blocks of finding.site */
};

/* True if there are enough of them, in all and by the second. */
static bool is_often(const struct profile *p, uint64_t calls, uint64_t least)
{
	double seconds = (double)p->run.duration_ns / 1e9;

	return calls >= least &&
	       (double)calls >= seconds * CALLS_PER_SECOND * (double)least / CALLS_LEAST;
}

static void add_to(struct tally *t, const struct profile_site *s, size_t site, struct amount amount,
		   uint64_t calls)
{
	struct finding *f = &t->finding;

	if (f->sites++ == 0)
		f->size_min = UINT64_MAX;
	if (calls > t->largest) {
		t->largest = calls;
		f->site = site;
	}
	f->calls += calls;
	f->amount = amount_plus(f->amount, amount);
	if (s->size_min < f->size_min)
		f->size_min = s->size_min;
	if (s->size_max > f->size_max)
		f->size_max = s->size_max;
}

static struct tally *new_tallies(const struct habits *h)
{
	return mem_new(h->place_count + 1, sizeof(struct tally));
}

static void report(struct habits *h, enum finding_kind kind, struct finding f, double weight)
{
	f.kind = kind;
	f.weight = weight;
	*vec_push(&h->findings->list) = f;
}

/* ---- temporary allocations ------------------------------------------------------------------- */

void habits_find_temporary(struct habits *h)
{
	const struct profile *p = model_get_profile(h->model);
	struct tally *tallies = new_tallies(h);

	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		if (h->places[i] && s->temporary && s->temporary >= s->allocations / 2)
			add_to(&tallies[h->places[i]], s, i, figure_get(s, FIGURE_CALLS),
			       s->temporary);
	}
	for (size_t i = 1; i <= h->place_count; i++) {
		const struct finding *f = &tallies[i].finding;
		double share = habits_share(f->calls, p->totals.allocations);
		if (is_often(p, f->calls, CALLS_LEAST) && share >= CALLS_SHARE)
			report(h, FINDING_TEMPORARY, *f, share);
	}
	free(tallies);
}

/* ---- blocks made larger step by step --------------------------------------------------------- */

/* How the libraries of C++ and Rust call what makes an array larger. */
static const char *const growers[] = {
	"_M_realloc_insert",
	"_M_realloc_append",
	"_M_default_append",
	"_M_range_insert",
	"_M_fill_insert",
	"__push_back_slow_path",
	"__emplace_back_slow_path",
	"finish_grow",
	"reserve::do_reserve_and_handle",
	NULL,
};

/* Only the frames between the allocator and the program's own code can be such a function. */
static bool is_grower(const struct model *m, size_t site, struct model_stack *stack)
{
	model_get_stack(m, site, stack);
	for (size_t i = 0; i < stack->frames.count && i < 8; i++)
		for (size_t k = 0; growers[k]; k++)
			if (strstr(model_get_frame(m, stack->frames.at[i])->function, growers[k]))
				return true;
	return false;
}

static bool has_grown(const struct profile_site *s)
{
	return s->allocations > 1 && s->size_max / REGROWN_RATIO >= s->size_min;
}

/* True if what was copied took as large a part of the run as CALLS_PER_SECOND stands for: a
 * mebibyte takes half a thousandth of a second, with the pages that are touched for it. */
static bool is_much(const struct profile *p, uint64_t bytes)
{
	double seconds = (double)p->run.duration_ns / 1e9;

	return bytes >= COPIED_LEAST && (double)bytes >= seconds * COPIED_BYTES;
}

static bool is_worth(const struct profile *p, const struct finding *f)
{
	double copied = habits_share(f->saved_bytes, p->totals.allocated_bytes);

	if (f->calls >= REGROWN_STEPS && is_much(p, f->saved_bytes) && copied >= COPIED_SHARE)
		return true;
	return (is_often(p, f->calls, REGROWN_LEAST) &&
		habits_share(f->calls, p->totals.allocations) >= CALLS_SHARE) ||
	       (f->saved_bytes >= COPIED_BYTES && is_often(p, f->calls, REGROWN_LEAST) &&
		copied >= COPIED_SHARE);
}

void habits_find_regrown(struct habits *h)
{
	const struct profile *p = model_get_profile(h->model);
	struct tally *tallies = new_tallies(h);
	struct model_stack stack = {0};

	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		if (!h->places[i] || !has_grown(s))
			continue;
		bool resized = s->reallocations >= s->allocations / 2 && s->reallocations;
		if (!resized && !is_grower(h->model, i, &stack))
			continue;
		struct tally *t = &tallies[h->places[i]];
		add_to(t, s, i, figure_get(s, FIGURE_CALLS), resized ? s->reallocations : s->frees);
		t->finding.saved_bytes += s->freed_bytes;
	}
	for (size_t i = 1; i <= h->place_count; i++) {
		const struct finding *f = &tallies[i].finding;
		if (is_worth(p, f))
			report(h, FINDING_REGROWN, *f,
			       habits_share(f->calls, p->totals.allocations));
	}
	vec_free(&stack.frames);
	free(tallies);
}

/* ---- many tiny blocks ------------------------------------------------------------------------ */

/* What glibc's malloc takes for a block: eight bytes more, in steps of sixteen, at least 32. */
static uint64_t taken_for(uint64_t size)
{
	uint64_t taken = (size + 8 + 15) & ~UINT64_C(15);

	return taken < 32 ? 32 : taken;
}

void habits_find_tiny(struct habits *h)
{
	const struct profile *p = model_get_profile(h->model);
	struct tally *tallies = new_tallies(h);

	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		if (!h->places[i] || s->size_min != s->size_max || s->size_max > TINY_BYTES ||
		    !s->at_peak_blocks || s->size_max == 0)
			continue;
		struct tally *t = &tallies[h->places[i]];
		add_to(t, s, i, figure_get(s, FIGURE_PEAK), s->at_peak_blocks);
		t->finding.saved_bytes +=
			s->at_peak_blocks * (taken_for(s->size_max) - s->size_max);
	}
	for (size_t i = 1; i <= h->place_count; i++) {
		struct finding *f = &tallies[i].finding;
		double share = habits_share(f->saved_bytes, p->totals.peak_bytes);
		f->calls = 0;
		if (f->amount.blocks >= TINY_LEAST && f->saved_bytes >= TINY_SAVED &&
		    share >= TINY_SHARE)
			report(h, FINDING_TINY, *f, share);
	}
	free(tallies);
}
