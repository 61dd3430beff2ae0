/* figure_test.c -- figures by name, of a site and of a program. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/figure.h"

static void every_figure_is_found_by_its_name(void **state)
{
	(void)state;
	for (unsigned f = 0; f < FIGURE_KINDS; f++)
		assert_int_equal(figure_find(figure_name((enum figure)f)), f);
	assert_int_equal(figure_find("leaked"), FIGURE_LEAKED);
	assert_int_equal(figure_find("nonsense"), FIGURE_KINDS);
}

static void assert_amount(struct amount a, uint64_t bytes, uint64_t blocks)
{
	assert_int_equal(a.bytes, bytes);
	assert_int_equal(a.blocks, blocks);
}

static void each_figure_of_a_site_comes_from_its_own_fields(void **state)
{
	struct profile_site site = {
		.allocations = 1,
		.allocated_bytes = 2,
		.live_blocks = 3,
		.live_bytes = 4,
		.at_peak_blocks = 5,
		.at_peak_bytes = 6,
		.temporary = 7,
	};

	(void)state;
	assert_amount(figure_get(&site, FIGURE_PEAK), 6, 5);
	assert_amount(figure_get(&site, FIGURE_LEAKED), 4, 3);
	assert_amount(figure_get(&site, FIGURE_ALLOCATED), 2, 1);
	assert_amount(figure_get(&site, FIGURE_CALLS), 2, 1);
	assert_amount(figure_get(&site, FIGURE_TEMPORARY), 0, 7);
}

static void each_figure_of_a_program_comes_from_its_own_totals(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	p->totals.allocations = 1;
	p->totals.allocated_bytes = 2;
	p->totals.leaked_blocks = 3;
	p->totals.leaked_bytes = 4;
	p->totals.peak_blocks = 5;
	p->totals.peak_bytes = 6;
	p->totals.temporary_allocations = 7;
	assert_amount(figure_get_total(p, FIGURE_PEAK), 6, 5);
	assert_amount(figure_get_total(p, FIGURE_LEAKED), 4, 3);
	assert_amount(figure_get_total(p, FIGURE_ALLOCATED), 2, 1);
	assert_amount(figure_get_total(p, FIGURE_CALLS), 2, 1);
	assert_amount(figure_get_total(p, FIGURE_TEMPORARY), 0, 7);
	profile_free(p);
}

static void calls_and_temporary_are_valued_by_number_the_others_by_bytes(void **state)
{
	struct amount a = {.bytes = 100, .blocks = 3};

	(void)state;
	assert_int_equal(figure_get_value(a, FIGURE_PEAK), 100);
	assert_int_equal(figure_get_value(a, FIGURE_ALLOCATED), 100);
	assert_int_equal(figure_get_value(a, FIGURE_CALLS), 3);
	assert_int_equal(figure_get_value(a, FIGURE_TEMPORARY), 3);
}

static void what_was_live_when_sampled_figures_were_cleared_is_an_estimate(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	p->totals.allocations = 10;
	p->run.sample_period = 100;
	p->run.sampled_blocks = PROFILE_SAMPLED_ALL;
	*vec_push(&p->sites) =
		(struct profile_site){.allocations = 10, .allocated_doubt = {.milliblocks = 2000}};
	assert_true(figure_get_total(p, FIGURE_CALLS).blocks_variance == 0);
	p->run.cleared_ns = 1;
	assert_true(figure_get_total(p, FIGURE_CALLS).blocks_variance == 4);
	assert_int_equal(figure_get_total(p, FIGURE_CALLS).blocks, 10);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_is_found_by_its_name),
		cmocka_unit_test(each_figure_of_a_site_comes_from_its_own_fields),
		cmocka_unit_test(what_was_live_when_sampled_figures_were_cleared_is_an_estimate),
		cmocka_unit_test(each_figure_of_a_program_comes_from_its_own_totals),
		cmocka_unit_test(calls_and_temporary_are_valued_by_number_the_others_by_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
