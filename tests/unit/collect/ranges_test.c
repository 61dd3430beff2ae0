/* ranges_test.c -- ranges of addresses against a plain array that says who owns each. Runs: as a
 * test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/ranges.h"

#define ADDRESSES 512u
#define ROUNDS	  20000u

static uint32_t splits;

static void count_split(void *context, uint32_t map)
{
	(void)context;
	(void)map;
	splits++;
}

static void fill_owners(void *context, const struct range *range)
{
	uint32_t *owners = context;

	assert_true(range->start < range->end && range->end <= ADDRESSES);
	for (uint64_t i = range->start; i < range->end; i++) {
		assert_int_equal(owners[i], 0); /* ranges do not overlap */
		owners[i] = range->map;
	}
}

/* What is live, address by address. */
static void assert_live(struct ranges *r, const uint32_t *expected)
{
	uint32_t owners[ADDRESSES] = {0};

	ranges_visit(r, r->live, fill_owners, owners);
	assert_memory_equal(owners, expected, sizeof(owners));
}

static void any_part_can_be_taken_and_put_back(void **state)
{
	struct ranges r = {0};
	uint32_t expected[ADDRESSES] = {0};
	uint64_t seed = 1;

	(void)state;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		uint64_t start = (seed >> 33) % ADDRESSES;
		uint64_t end = start + 1 + (seed >> 50) % (ADDRESSES - start);
		struct range_tree taken = ranges_take(&r, start, end, count_split, NULL);
		uint32_t owners[ADDRESSES] = {0};

		ranges_visit(&r, taken, fill_owners, owners);
		assert_memory_equal(owners + start, expected + start,
				    (end - start) * sizeof(owners[0]));
		if (round % 3 == 0) {
			ranges_put_back(&r, taken);
		} else {
			ranges_drop(&r, taken);
			memset(expected + start, 0, (end - start) * sizeof(expected[0]));
		}
		if (round % 3 == 1) {
			ranges_add(&r, start, end, round);
			for (uint64_t i = start; i < end; i++)
				expected[i] = round;
		}
		if (round % 64 == 0)
			assert_live(&r, expected);
	}
	assert_true(r.all.count <= ADDRESSES + 1); /* dropped ranges are used again */
	ranges_fini(&r);
}

static void a_cut_is_told_for_each_end_that_crosses_a_range(void **state)
{
	struct ranges r = {0};

	(void)state;
	splits = 0;
	ranges_add(&r, 10, 20, 7);
	ranges_drop(&r, ranges_take(&r, 12, 15, count_split, NULL));
	assert_int_equal(splits, 2);
	assert_non_null(ranges_find(&r, 10));
	assert_int_equal(ranges_find(&r, 15)->end, 20);
	assert_null(ranges_find(&r, 12));
	ranges_drop(&r, ranges_take(&r, 10, 12, count_split, NULL));
	ranges_drop(&r, ranges_take(&r, 0, 100, count_split, NULL));
	assert_int_equal(splits, 2);
	assert_int_equal(r.live.root, 0);
	ranges_fini(&r);
}

/* Otherwise a program could choose its addresses so that the tree becomes a list. */
static void the_same_ranges_make_another_tree_each_time(void **state)
{
	struct ranges one = {0}, other = {0};
	size_t same = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		ranges_add(&one, i, i + 1, i);
		ranges_add(&other, i, i + 1, i);
		same += one.all.at[i + 1].rank == other.all.at[i + 1].rank;
	}
	assert_true(same < 8);
	ranges_fini(&one);
	ranges_fini(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_part_can_be_taken_and_put_back),
		cmocka_unit_test(a_cut_is_told_for_each_end_that_crosses_a_range),
		cmocka_unit_test(the_same_ranges_make_another_tree_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
