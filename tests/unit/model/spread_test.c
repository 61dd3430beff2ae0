/* spread_test.c -- how much recordings differ, and which one stands out. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/spread.h"

static struct spread spread_of(const uint64_t *peaks, size_t count)
{
	struct profile *p = profile_new();

	for (size_t i = 0; i < count; i++)
		*vec_push(&p->inputs) = (struct profile_input){.totals.peak_bytes = peaks[i]};
	struct spread s = spread_find(p, SPREAD_PEAK);
	profile_free(p);
	return s;
}

#define SPREAD(...) \
	spread_of((const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void the_ends_and_the_middle_are_found(void **state)
{
	struct spread s = SPREAD(30, 10, 20, 41);

	(void)state;
	assert_int_equal(s.least, 10);
	assert_int_equal(s.least_input, 1);
	assert_int_equal(s.most, 41);
	assert_int_equal(s.most_input, 3);
	assert_int_equal(s.median, 25);
	assert_true(s.mean > 25.24 && s.mean < 25.26);
	assert_int_equal(s.outlier, SPREAD_NONE);
}

static void one_that_is_out_of_line_is_named(void **state)
{
	(void)state;
	assert_int_equal(SPREAD(100, 101, 300, 99).outlier, 2);
	assert_int_equal(SPREAD(100, 101, 10, 99, 102).outlier, 2);
	assert_int_equal(SPREAD(7, 7, 7, 9).outlier, 3);
	assert_int_equal(SPREAD(0, 0, 5).outlier, 2);
	/* A little more is nothing, and of two nobody knows. */
	assert_int_equal(SPREAD(100, 100, 110, 100).outlier, SPREAD_NONE);
	assert_int_equal(SPREAD(1, 1000).outlier, SPREAD_NONE);
	assert_int_equal(SPREAD(5, 5, 5, 5).outlier, SPREAD_NONE);
	assert_int_equal(SPREAD(0, 0, 0).outlier, SPREAD_NONE);
	assert_int_equal(SPREAD(UINT64_MAX, UINT64_MAX, 0).outlier, 2);
	/* All over the place: none stands out. */
	assert_int_equal(SPREAD(10, 20, 30, 40, 50).outlier, SPREAD_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ends_and_the_middle_are_found),
		cmocka_unit_test(one_that_is_out_of_line_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
