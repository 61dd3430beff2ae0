/* map_test.c -- the hash table keeps what is put in. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"

static void given_many_keys_then_each_keeps_its_own_value(void **state)
{
	struct map m = {0};

	(void)state;
	for (uint32_t i = 1; i <= 10000; i++) {
		uint32_t *value = map_reserve(&m, (uint64_t)i << 32);
		assert_int_equal(*value, 0);
		*value = i;
	}
	for (uint32_t i = 1; i <= 10000; i++)
		assert_int_equal(*map_reserve(&m, (uint64_t)i << 32), i);
	assert_int_equal(m.count, 10000);
	map_free(&m);
}

static void key_zero_is_a_key_like_any_other(void **state)
{
	struct map m = {0};

	(void)state;
	*map_reserve(&m, 0) = 7;
	assert_int_equal(*map_reserve(&m, 0), 7);
	assert_int_equal(m.count, 1);
	map_free(&m);
}

static void hashes_of_different_texts_differ(void **state)
{
	(void)state;
	assert_true(map_hash_text("ab") != map_hash_text("ba"));
	assert_true(map_hash_text("") != map_hash_text("a"));
	assert_true(map_hash_text("ab") == map_hash_text("ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_many_keys_then_each_keeps_its_own_value),
		cmocka_unit_test(key_zero_is_a_key_like_any_other),
		cmocka_unit_test(hashes_of_different_texts_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
