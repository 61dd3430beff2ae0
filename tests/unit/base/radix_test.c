/* radix_test.c -- sorting by a number. Runs: as a unit test of the base room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/radix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct element {
	uint32_t place; /* where it was */
	uint64_t key;
	uint8_t more;
};

static int compare(const void *left, const void *right)
{
	const struct element *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

/* Against qsort, where those with the same key must keep their order. */
static void expect_sorted(size_t count, uint64_t mask)
{
	struct element *a = calloc(count + 1, sizeof(*a)), *b = calloc(count + 1, sizeof(*b));
	uint64_t random = 88172645463325252u;

	for (uint32_t i = 0; i < count; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		a[i] = b[i] = (struct element){i, random & mask, (uint8_t)i};
	}
	radix_sort(a, count, sizeof(*a), offsetof(struct element, key));
	qsort(b, count, sizeof(*b), compare);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(a[i].place, b[i].place);
		assert_int_equal(a[i].key, b[i].key);
		assert_int_equal(a[i].more, b[i].more);
	}
	free(a);
	free(b);
}

static void elements_come_in_the_order_of_their_keys(void **state)
{
	(void)state;
	expect_sorted(10000, UINT64_MAX);
	expect_sorted(10000, UINT64_C(0xffffff));
	expect_sorted(9999, UINT64_C(0xff00000000000000));
	expect_sorted(777, UINT64_C(0x7ff0000007ff));
	expect_sorted(777, UINT64_MAX);
	expect_sorted(20, UINT64_MAX);
}

static void elements_with_the_same_key_keep_their_order(void **state)
{
	(void)state;
	expect_sorted(10000, 7);
	expect_sorted(500, 7);
	expect_sorted(20, 3);
	expect_sorted(100, 0);
}

static void given_few_or_none_then_nothing_is_moved_wrongly(void **state)
{
	(void)state;
	expect_sorted(0, UINT64_MAX);
	expect_sorted(1, UINT64_MAX);
	expect_sorted(2, UINT64_MAX);
	expect_sorted(3, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_come_in_the_order_of_their_keys),
		cmocka_unit_test(elements_with_the_same_key_keep_their_order),
		cmocka_unit_test(given_few_or_none_then_nothing_is_moved_wrongly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
