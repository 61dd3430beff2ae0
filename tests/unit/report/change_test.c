/* change_test.c -- differences as people read them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/change.h"

static void bytes_have_a_sign_unless_nothing_changed(void **state)
{
	(void)state;
	assert_string_equal(change_bytes(0).text, "0 B");
	assert_string_equal(change_bytes(12).text, "+12 B");
	assert_string_equal(change_bytes(-2048).text, "-2.00 KiB");
	assert_string_equal(change_bytes(INT64_MIN).text, "-8.00 EiB");
}

static void counts_have_a_sign_unless_nothing_changed(void **state)
{
	(void)state;
	assert_string_equal(change_count(0).text, "0");
	assert_string_equal(change_count(1234567).text, "+1,234,567");
	assert_string_equal(change_count(-1).text, "-1");
}

static void relative_changes_are_percentages_until_factors_read_better(void **state)
{
	(void)state;
	assert_string_equal(change_relative(0, 0).text, "0.00%");
	assert_string_equal(change_relative(8, 9).text, "+12.50%");
	assert_string_equal(change_relative(8, 0).text, "-100.00%");
	assert_string_equal(change_relative(10, 99).text, "+890.00%");
	assert_string_equal(change_relative(10, 253).text, "25.3x");
	assert_string_equal(change_relative(0, 5).text, "from 0");
	assert_string_equal(change_relative(1, UINT64_MAX).text, "18446744073709551615.0x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_have_a_sign_unless_nothing_changed),
		cmocka_unit_test(counts_have_a_sign_unless_nothing_changed),
		cmocka_unit_test(relative_changes_are_percentages_until_factors_read_better),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
