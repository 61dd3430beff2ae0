/* amounts_test.c -- sizes, counts and percentages as people type them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/amounts.h"

static void assert_bytes(const char *text, uint64_t expected)
{
	uint64_t bytes = 77;

	assert_true(amounts_parse_bytes(text, &bytes));
	assert_int_equal(bytes, expected);
}

static void sizes_have_binary_and_decimal_units(void **state)
{
	(void)state;
	assert_bytes("0", 0);
	assert_bytes("0B", 0);
	assert_bytes("200", 200);
	assert_bytes("1K", 1024);
	assert_bytes("1k", 1024);
	assert_bytes("200M", UINT64_C(200) << 20);
	assert_bytes("1.5G", UINT64_C(3) << 29);
	assert_bytes("64KiB", 65536);
	assert_bytes("64kib", 65536);
	assert_bytes("10kB", 10000);
	assert_bytes("2TB", UINT64_C(2000000000000));
	assert_bytes("0.001K", 1);
	assert_bytes("18446744073709551615", UINT64_MAX);
}

static void what_is_no_size_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"K",
		"-1",
		"+1",
		" 1",
		"1 M",
		"1.",
		".5",
		"1.5",
		"1e9",
		"5x",
		"1KK",
		"1iB",
		"1Kibi",
		"0x10",
		"1M ",
		"20000000000T",
		"1,000",
		"18446744073709551616",
		"1%",
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (amounts_parse_bytes(texts[i], &bytes))
			fail_msg("\"%s\" was taken", texts[i]);
}

static void counts_have_decimal_units(void **state)
{
	uint64_t count;

	(void)state;
	assert_true(amounts_parse_count("1000000", &count) && count == 1000000);
	assert_true(amounts_parse_count("2.5M", &count) && count == 2500000);
	assert_true(amounts_parse_count("10k", &count) && count == 10000);
	assert_false(amounts_parse_count("10kB", &count));
	assert_false(amounts_parse_count("1.5", &count));
	assert_false(amounts_parse_count("-1", &count));
}

static void percentages_are_parts_of_a_million(void **state)
{
	uint64_t parts;

	(void)state;
	assert_true(amounts_parse_percent("5%", &parts) && parts == 50000);
	assert_true(amounts_parse_percent("0.25%", &parts) && parts == 2500);
	assert_true(amounts_parse_percent("0%", &parts) && parts == 0);
	assert_true(amounts_parse_percent("250%", &parts) && parts == 2500000);
	assert_false(amounts_parse_percent("5", &parts));
	assert_false(amounts_parse_percent("%", &parts));
	assert_false(amounts_parse_percent("-5%", &parts));
	assert_false(amounts_parse_percent("5%%", &parts));
	assert_false(amounts_parse_percent("99999999999999999999%", &parts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_binary_and_decimal_units),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(counts_have_decimal_units),
		cmocka_unit_test(percentages_are_parts_of_a_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
