/* python_lines_test.c -- lines of Python's instructions, from tables as its compilers make them.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include "capture/python_lines.h"

static uint32_t find(enum python_lines_kind kind, const char *table, size_t bytes, int64_t offset)
{
	const struct python_lines l = {
		.kind = kind, .table = (const uint8_t *)table, .bytes = bytes, .first_line = 10};

	return python_lines_find(&l, offset);
}

#define FIND(kind, table, offset) find(kind, table, sizeof(table) - 1, offset)

static void a_frame_that_has_not_begun_is_at_the_first_line(void **state)
{
	(void)state;
	assert_int_equal(FIND(PYTHON_LINES_STEPS, "\x04\x01", -1), 10);
	assert_int_equal(FIND(PYTHON_LINES_RANGES, "\x04\x01", -2), 10);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, "\xd8\x01\x01", -2), 10);
}

static void steps_go_forwards_and_back(void **state)
{
	static const char table[] = "\x04\x01\x06\xff\x00\x7f\x02\x03";

	(void)state;
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 0), 10);
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 3), 10);
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 4), 11);
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 10), 10 + 127);
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 12), 10 + 127 + 3);
	assert_int_equal(FIND(PYTHON_LINES_STEPS, table, 9999), 10 + 127 + 3);
}

static void a_range_may_have_no_line(void **state)
{
	static const char table[] = "\x04\x01\x02\x80\x06\x02";

	(void)state;
	assert_int_equal(FIND(PYTHON_LINES_RANGES, table, 0), 11);
	assert_int_equal(FIND(PYTHON_LINES_RANGES, table, 4), 0);
	assert_int_equal(FIND(PYTHON_LINES_RANGES, table, 6), 13);
	assert_int_equal(FIND(PYTHON_LINES_RANGES, table, 12), 0);
}

static void places_have_lines_in_five_ways(void **state)
{
	/* kinds: 11 (one line on), 0 (the same), 13 (a number: -2), 14 (long: 70), 15 (none) */
	static const char table[] = "\xd8\x01\x02"
				    "\x81\x05"
				    "\xe8\x05"
				    "\xf2\x4c\x04\x01\x01\x01"
				    "\xf8";

	(void)state;
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 0), 11);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 2), 11);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 4), 11);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 6), 9);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 8), 9 + 134);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 13), 9 + 134);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 14), 0);
	assert_int_equal(FIND(PYTHON_LINES_PLACES, table, 16), 0);
}

static void any_bytes_give_some_line(void **state)
{
	char table[64];
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t bytes = fixture_random(&random) % sizeof(table);

		for (size_t i = 0; i < bytes; i++)
			table[i] = (char)fixture_random(&random);
		for (int kind = PYTHON_LINES_STEPS; kind <= PYTHON_LINES_PLACES; kind++)
			assert_true(find((enum python_lines_kind)kind, table, bytes,
					 (int64_t)(fixture_random(&random) % 512)) <= INT32_MAX);
	}
}

static void a_search_that_goes_on_finds_what_a_new_one_does(void **state)
{
	static const char steps[] = "\x04\x01\x06\xff\x00\x7f\x02\x03";
	static const char ranges[] = "\x04\x01\x02\x80\x06\x02";
	static const char places[] = "\xd8\x01\x02\x81\x05\xe8\x05\xf2\x4c\x04\x01\x01\x01\xf8";
	const struct python_lines all[] = {
		{PYTHON_LINES_STEPS, (const uint8_t *)steps, sizeof(steps) - 1, 10},
		{PYTHON_LINES_RANGES, (const uint8_t *)ranges, sizeof(ranges) - 1, 10},
		{PYTHON_LINES_PLACES, (const uint8_t *)places, sizeof(places) - 1, 10},
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct python_lines_mark mark = {0};

		for (int64_t from = -2; from < 20; from++)
			for (int64_t to = -2; to < 20; to++) {
				(void)python_lines_find_from(&all[i], from, &mark);
				assert_int_equal(python_lines_find_from(&all[i], to, &mark),
						 python_lines_find(&all[i], to));
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_that_has_not_begun_is_at_the_first_line),
		cmocka_unit_test(steps_go_forwards_and_back),
		cmocka_unit_test(a_range_may_have_no_line),
		cmocka_unit_test(places_have_lines_in_five_ways),
		cmocka_unit_test(any_bytes_give_some_line),
		cmocka_unit_test(a_search_that_goes_on_finds_what_a_new_one_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
