/* statistics_test.c -- samples of known heaps, many times over: are the estimates right on average,
 * and do the intervals hold the truth as often as they say? Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The draws are those of the target (capture/draw.c), the weights and sums those of the collector,
 * the intervals those of the reports; only the heap is made up. All seeds are fixed: the test gives
 * the same answer every time. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/draw.h"
#include "collect/account.h"
#include "model/interval.h"

#define RUNS	  2000 /* the share of intervals is then known to half a percent */
#define PERIOD	  4096u
#define SITES_MAX 4u
#define LIVE_MAX  65536u

/* ---- a thread that is sampled ---------------------------------------------------------------- */

struct known {
	uint64_t ptr;
	uint64_t size;
	uint64_t period;
};

struct run {
	struct account account;
	struct segment_slot slots[2];
	uint64_t random;
	uint64_t period;
	uint64_t allowance;
	uint64_t ticks;
	uint64_t next_ptr;
	struct known *sampled; /* what the target's table has */
	size_t sampled_count;
	/* the truth */
	struct amount allocated[SITES_MAX];
	struct amount live[SITES_MAX];
};

static struct ticks test_clock = {.span_ticks = 1, .span_ns = 1};

static void begin(struct run *r, uint64_t seed)
{
	const struct sampling_terms terms = {.period = PERIOD, .seed = seed};

	memset(r, 0, sizeof(*r));
	account_init(&r->account, &test_clock, 2);
	r->account.sampling = sampling_new(&terms, r->slots, 2);
	(void)account_open_thread(&r->account, 1, 1);
	r->random = draw_seed(seed, 1);
	r->period = PERIOD;
	r->allowance = draw_allowance(&r->random, r->period);
	r->next_ptr = 0x10000;
	r->sampled = calloc(LIVE_MAX, sizeof(*r->sampled));
}

static void end(struct run *r)
{
	account_fini(&r->account);
	free(r->sampled);
}

static void apply(struct run *r, struct event e)
{
	e.ticks = ++r->ticks;
	e.slot = 1;
	e.hash = live_hash(e.ptr);
	assert_int_equal(account_apply(&r->account, &e, 1), 1);
}

static uint64_t allocate(struct run *r, uint32_t site, uint64_t size)
{
	uint64_t ptr = r->next_ptr += 16;

	r->allocated[site].bytes += size;
	r->allocated[site].blocks++;
	r->live[site].bytes += size;
	r->live[site].blocks++;
	if (size + 1 < r->allowance) {
		r->allowance -= size + 1;
		return ptr;
	}
	apply(r, (struct event){
			 .kind = SEGMENT_EVENT_ALLOC, .ptr = ptr, .size = size, .node = site + 1});
	r->sampled[r->sampled_count++] = (struct known){ptr, size, r->period};
	r->allowance = draw_allowance(&r->random, r->period);
	return ptr;
}

static void give_back(struct run *r, uint32_t site, uint64_t ptr, uint64_t size)
{
	r->live[site].bytes -= size;
	r->live[site].blocks--;
	for (size_t i = 0; i < r->sampled_count; i++) {
		if (r->sampled[i].ptr != ptr)
			continue;
		apply(r, (struct event){.kind = SEGMENT_EVENT_FREE, .ptr = ptr});
		r->sampled[i] = r->sampled[--r->sampled_count];
		return;
	}
}

static void change_period(struct run *r, uint64_t period)
{
	r->period = period;
	r->allowance = draw_allowance(&r->random, period);
	apply(r, (struct event){.kind = SEGMENT_EVENT_PERIOD, .ptr = period, .size = period});
}

/* As capture/sampler.c does it. */
static void thin(struct run *r, uint64_t period)
{
	for (size_t i = 0; i < r->sampled_count; i++) {
		struct known *k = &r->sampled[i];
		double before = draw_chance(k->size, k->period);
		bool stays = draw_even(&r->random) * before <= draw_chance(k->size, period);

		apply(r, (struct event){.kind = SEGMENT_EVENT_THINNED,
					.ptr = k->ptr,
					.size = period,
					.api = stays ? SEGMENT_THINNED_KEPT
						     : SEGMENT_THINNED_DROPPED});
		k->period = period;
		if (!stays)
			r->sampled[i--] = r->sampled[--r->sampled_count];
	}
	change_period(r, period);
}

/* ---- heaps ----------------------------------------------------------------------------------- */

static void make_tiny(struct run *r)
{
	for (int i = 0; i < 8192; i++)
		(void)allocate(r, 0, (uint64_t)(i % 4) * 16 + 8);
}

static void make_huge(struct run *r)
{
	for (uint64_t i = 0; i < 200; i++)
		(void)allocate(r, 0, PERIOD * (1 + i % 4));
}

/* Some are sampled nearly always, some hardly ever, all on one stack. */
static void make_mixed(struct run *r)
{
	for (uint64_t i = 0; i < 4000; i++)
		(void)allocate(r, 0, i % 100 == 0 ? 20 * PERIOD : i % 10 == 0 ? PERIOD / 2 : 48);
}

/* A cache that stays and a churn that goes, on two stacks and a common one. */
static void make_churn(struct run *r)
{
	for (int i = 0; i < 4000; i++) {
		(void)allocate(r, 0, 40);
		uint64_t brief = allocate(r, 1, 200);
		if (i % 8 == 0)
			(void)allocate(r, 2, 300);
		give_back(r, 1, brief, 200);
		uint64_t common = allocate(r, 2, 300);
		give_back(r, 2, common, 300);
	}
}

static void make_thinned(struct run *r)
{
	make_tiny(r);
	thin(r, 2 * (uint64_t)PERIOD);
	make_mixed(r);
	thin(r, 4 * (uint64_t)PERIOD);
	for (int i = 0; i < 4000; i++)
		(void)allocate(r, 1, 100);
}

static void make_changed(struct run *r)
{
	make_tiny(r);
	change_period(r, PERIOD / 4);
	make_tiny(r);
	change_period(r, 3 * (uint64_t)PERIOD);
	make_mixed(r);
}

/* ---- what is found --------------------------------------------------------------------------- */

struct finding {
	double truth;
	double sum;
	double squares;
	unsigned held; /* intervals that had the truth */
};

enum { ALLOCATED_BYTES, CALLS, LIVE_BYTES, LIVE_BLOCKS, FINDINGS };

static void note(struct finding *f, uint64_t truth, uint64_t estimate, struct interval i)
{
	f->truth = (double)truth;
	f->sum += (double)estimate;
	f->squares += (double)estimate * (double)estimate;
	f->held += truth >= i.low && truth <= i.high;
}

static void look(struct run *r, struct finding found[FINDINGS], uint32_t sites, uint64_t period)
{
	struct account *a = &r->account;
	struct amount allocated = {.period = period}, live = {.period = period};
	struct amount all = {0}, left = {0};

	for (uint32_t i = 0; i < sites; i++) {
		all = amount_plus(all, r->allocated[i]);
		left = amount_plus(left, r->live[i]);
	}
	for (uint32_t i = 0; i < a->sites.list.count; i++) {
		const struct holding *h = &a->sites.list.at[i].held;
		struct site_doubt *d = sampling_get_doubt(a->sampling, i, &a->peak);
		struct amount came = {h->allocated_bytes,  h->allocations, d->allocated.bytes,
				      d->allocated.blocks, period,	   0};
		struct amount is = {holding_get_bytes(h),
				    holding_get_blocks(h),
				    d->live.bytes,
				    d->live.blocks,
				    period,
				    0};

		if (a->sites.list.at[i].node > sites)
			continue;
		allocated = amount_plus(allocated, came);
		live = amount_plus(live, is);
	}
	note(&found[ALLOCATED_BYTES], all.bytes, allocated.bytes, interval_get_bytes(allocated));
	note(&found[CALLS], all.blocks, allocated.blocks, interval_get_blocks(allocated));
	note(&found[LIVE_BYTES], left.bytes, live.bytes, interval_get_bytes(live));
	note(&found[LIVE_BLOCKS], left.blocks, live.blocks, interval_get_blocks(live));
}

/* Within 3.5 standard errors of the mean: by chance one in 2,000 figures is not, and the seeds are
 * such that none is. */
static void check(const char *what, const struct finding *f)
{
	double mean = f->sum / RUNS;
	double error = sqrt((f->squares / RUNS - mean * mean) / RUNS);
	double share = 100.0 * f->held / RUNS;

	print_message("%s: truth %.0f, mean %.1f (%+.2f standard errors), %.1f %% held\n", what,
		      f->truth, mean, error > 0 ? (mean - f->truth) / error : 0, share);
	assert_true(fabs(mean - f->truth) <= 3.5 * error + 0.5);
	if (error > 0) {
		assert_true(share >= 93);
		assert_true(share <= 97);
	}
}

static void try_heap(void (*make)(struct run *), uint32_t sites, uint64_t longest)
{
	static const char *const names[FINDINGS] = {"allocated bytes", "calls", "live bytes",
						    "live blocks"};
	struct finding found[FINDINGS] = {0};
	struct run r;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		begin(&r, seed);
		make(&r);
		look(&r, found, sites, longest);
		end(&r);
	}
	for (unsigned i = 0; i < FINDINGS; i++)
		check(names[i], &found[i]);
}

static void tiny_blocks_are_estimated_right(void **state)
{
	(void)state;
	try_heap(make_tiny, 1, PERIOD);
}

static void huge_blocks_are_estimated_right(void **state)
{
	(void)state;
	try_heap(make_huge, 1, PERIOD);
}

static void mixed_sizes_on_one_stack_are_estimated_right(void **state)
{
	(void)state;
	try_heap(make_mixed, 1, PERIOD);
}

static void what_lives_long_is_told_from_what_does_not(void **state)
{
	(void)state;
	try_heap(make_churn, 1, PERIOD);
	try_heap(make_churn, 3, PERIOD);
}

static void thinning_leaves_estimates_right(void **state)
{
	(void)state;
	try_heap(make_thinned, 2, 4 * (uint64_t)PERIOD);
}

static void changes_of_the_period_leave_estimates_right(void **state)
{
	(void)state;
	try_heap(make_changed, 1, 3 * (uint64_t)PERIOD);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static void gaps_have_the_mean_and_spread_of_an_exponential(void **state)
{
	(void)state;
	uint64_t random = draw_seed(7, 1);
	double sum = 0, squares = 0;
	const int count = 400000;

	for (int i = 0; i < count; i++) {
		double gap = (double)draw_allowance(&random, 1000000);

		sum += gap;
		squares += gap * gap;
	}
	double mean = sum / count;
	assert_true(fabs(mean / 1e6 - 1) < 0.006);
	assert_true(fabs(sqrt(squares / count - mean * mean) / 1e6 - 1) < 0.012);
}

static void the_chance_of_a_block_is_that_of_libm(void **state)
{
	(void)state;
	for (uint64_t period = 1; period < UINT64_C(1) << 40; period = period * 3 + 1)
		for (uint64_t size = 0; size < UINT64_C(1) << 44; size = size * 2 + 1) {
			double p = -expm1(-((double)size + 1) / (double)period);

			assert_true(fabs(draw_chance(size, period) - p) <= 1e-12 * p);
		}
}

static void the_same_seed_gives_the_same_draws(void **state)
{
	(void)state;
	uint64_t a = draw_seed(3, 9), b = draw_seed(3, 9), c = draw_seed(3, 10);

	assert_true(draw_allowance(&a, 1000000) == draw_allowance(&b, 1000000));
	assert_true(draw_allowance(&a, 1000000) != draw_allowance(&c, 1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_have_the_mean_and_spread_of_an_exponential),
		cmocka_unit_test(the_chance_of_a_block_is_that_of_libm),
		cmocka_unit_test(the_same_seed_gives_the_same_draws),
		cmocka_unit_test(tiny_blocks_are_estimated_right),
		cmocka_unit_test(huge_blocks_are_estimated_right),
		cmocka_unit_test(mixed_sizes_on_one_stack_are_estimated_right),
		cmocka_unit_test(what_lives_long_is_told_from_what_does_not),
		cmocka_unit_test(thinning_leaves_estimates_right),
		cmocka_unit_test(changes_of_the_period_leave_estimates_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
