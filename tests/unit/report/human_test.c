/* human_test.c -- numbers as people read them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/human.h"

#define KIB UINT64_C(1024)

static void bytes_have_three_digits_and_a_binary_unit(void **state)
{
	(void)state;
	assert_string_equal(human_bytes(0).text, "0 B");
	assert_string_equal(human_bytes(1023).text, "1023 B");
	assert_string_equal(human_bytes(KIB).text, "1.00 KiB");
	assert_string_equal(human_bytes(12595).text, "12.3 KiB");
	assert_string_equal(human_bytes(456 * KIB * KIB).text, "456 MiB");
	assert_string_equal(human_bytes(1289748).text, "1.23 MiB");
	assert_string_equal(human_bytes(UINT64_MAX).text, "16.0 EiB");
}

static void bytes_that_round_to_1024_of_a_unit_are_one_of_the_next(void **state)
{
	(void)state;
	assert_string_equal(human_bytes(KIB * KIB - KIB).text, "1023 KiB");
	assert_string_equal(human_bytes(KIB * KIB - 513).text, "1023 KiB");
	assert_string_equal(human_bytes(KIB * KIB - 512).text, "1.00 MiB");
	assert_string_equal(human_bytes(KIB * KIB - 1).text, "1.00 MiB");
	assert_string_equal(human_bytes(10 * KIB - 1).text, "10.0 KiB");
	assert_string_equal(human_bytes(100 * KIB - 1).text, "100 KiB");
}

static void counts_have_separators(void **state)
{
	(void)state;
	assert_string_equal(human_count(0).text, "0");
	assert_string_equal(human_count(999).text, "999");
	assert_string_equal(human_count(1000).text, "1,000");
	assert_string_equal(human_things(0, "block").text, "0 blocks");
	assert_string_equal(human_things(1, "block").text, "1 block");
	assert_string_equal(human_things(UINT64_MAX, "allocation").text,
			    "18,446,744,073,709,551,615 allocations");
	assert_string_equal(human_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void durations_use_the_unit_that_fits(void **state)
{
	(void)state;
	assert_string_equal(human_duration(0).text, "0 ns");
	assert_string_equal(human_duration(999).text, "999 ns");
	assert_string_equal(human_duration(3400).text, "3.40 us");
	assert_string_equal(human_duration(999499).text, "999 us");
	assert_string_equal(human_duration(999500).text, "1.00 ms");
	assert_string_equal(human_duration(UINT64_C(1230000000)).text, "1.23 s");
	assert_string_equal(human_duration(UINT64_C(123000000000)).text, "2 min 03 s");
	assert_string_equal(human_duration(UINT64_C(18420000000000)).text, "5 h 07 min");
}

static void shares_have_two_decimals_and_only_all_is_100(void **state)
{
	(void)state;
	assert_string_equal(human_share(1, 8).text, "12.50%");
	assert_string_equal(human_share(0, 0).text, "0.00%");
	assert_string_equal(human_share(2, 3).text, "66.67%");
	assert_string_equal(human_share(999999, 1000000).text, "99.99%");
	assert_string_equal(human_share(UINT64_MAX, UINT64_MAX).text, "100.00%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_have_three_digits_and_a_binary_unit),
		cmocka_unit_test(bytes_that_round_to_1024_of_a_unit_are_one_of_the_next),
		cmocka_unit_test(counts_have_separators),
		cmocka_unit_test(durations_use_the_unit_that_fits),
		cmocka_unit_test(shares_have_two_decimals_and_only_all_is_100),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
