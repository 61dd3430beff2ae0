/* spans_test.c -- address ranges.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbol/spans.h"

#define NONE UINT32_MAX

static uint32_t item_at(const struct spans *s, uint64_t address)
{
	const struct span *span = spans_find(s, address);

	return span ? span->item : NONE;
}

static void an_empty_table_finds_nothing(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_flatten(&s);
	assert_null(spans_find(&s, 0));
	spans_free(&s);
}

static void a_range_holds_its_first_address_and_not_its_end(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_add(&s, (struct span){10, 20, 7, 0});
	spans_add(&s, (struct span){30, 30, 8, 0});
	spans_add(&s, (struct span){50, 40, 9, 0});
	spans_flatten(&s);
	assert_int_equal(item_at(&s, 9), NONE);
	assert_int_equal(item_at(&s, 10), 7);
	assert_int_equal(item_at(&s, 19), 7);
	assert_int_equal(item_at(&s, 20), NONE);
	assert_int_equal(item_at(&s, 30), NONE);
	assert_int_equal(item_at(&s, 45), NONE);
	spans_free(&s);
}

static void an_inner_range_wins_and_the_outer_one_goes_on_after_it(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_add(&s, (struct span){20, 30, 2, 1});
	spans_add(&s, (struct span){10, 50, 1, 0});
	spans_add(&s, (struct span){22, 24, 3, 2});
	spans_flatten(&s);
	assert_int_equal(item_at(&s, 10), 1);
	assert_int_equal(item_at(&s, 20), 2);
	assert_int_equal(item_at(&s, 23), 3);
	assert_int_equal(item_at(&s, 24), 2);
	assert_int_equal(item_at(&s, 30), 1);
	assert_int_equal(item_at(&s, 49), 1);
	spans_free(&s);
}

static void equal_ranges_go_to_the_deepest(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_add(&s, (struct span){10, 20, 3, 2});
	spans_add(&s, (struct span){10, 20, 1, 0});
	spans_add(&s, (struct span){10, 20, 2, 1});
	spans_flatten(&s);
	assert_int_equal(item_at(&s, 10), 3);
	assert_int_equal(item_at(&s, 19), 3);
	spans_free(&s);
}

static void flattening_again_after_adding_keeps_what_was_there(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_add(&s, (struct span){10, 20, 1, 0});
	spans_flatten(&s);
	spans_add(&s, (struct span){30, 40, 2, 0});
	spans_flatten(&s);
	assert_int_equal(item_at(&s, 15), 1);
	assert_int_equal(item_at(&s, 35), 2);
	assert_int_equal(item_at(&s, 25), NONE);
	spans_free(&s);
}

static void the_whole_address_space_can_be_covered(void **state)
{
	struct spans s = {0};

	(void)state;
	spans_add(&s, (struct span){0, UINT64_MAX, 1, 0});
	spans_add(&s, (struct span){UINT64_MAX - 1, UINT64_MAX, 2, 0});
	spans_flatten(&s);
	assert_int_equal(item_at(&s, 0), 1);
	assert_int_equal(item_at(&s, UINT64_MAX - 2), 1);
	assert_int_equal(item_at(&s, UINT64_MAX - 1), 2);
	spans_free(&s);
}

/* The range that starts last around an address, by looking at all of them. */
static uint32_t search(const struct span *ranges, size_t count, uint64_t address)
{
	const struct span *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct span *r = &ranges[i];

		if (address < r->low || address >= r->high)
			continue;
		if (!best || r->low > best->low || (r->low == best->low && r->depth > best->depth))
			best = r;
	}
	return best ? best->item : NONE;
}

static void crossing_ranges_go_to_the_one_that_starts_last(void **state)
{
	struct span ranges[60];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct spans s = {0};

		for (uint32_t i = 0; i < 60; i++) {
			seed = seed * 1664525u + 1013904223u;
			uint64_t low = seed >> 8 & 255;
			ranges[i] = (struct span){low, low + (seed >> 20 & 63), i, i};
			spans_add(&s, ranges[i]);
		}
		spans_flatten(&s);
		for (uint64_t address = 0; address < 320; address++)
			assert_int_equal(item_at(&s, address), search(ranges, 60, address));
		spans_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_finds_nothing),
		cmocka_unit_test(a_range_holds_its_first_address_and_not_its_end),
		cmocka_unit_test(an_inner_range_wins_and_the_outer_one_goes_on_after_it),
		cmocka_unit_test(equal_ranges_go_to_the_deepest),
		cmocka_unit_test(flattening_again_after_adding_keeps_what_was_there),
		cmocka_unit_test(the_whole_address_space_can_be_covered),
		cmocka_unit_test(crossing_ranges_go_to_the_one_that_starts_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
