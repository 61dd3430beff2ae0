/* python_offsets_test.c -- what interpreters say of themselves, compared with what is known of
 * their versions. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "capture/python_offsets.h"

#define WORDS 96

/* What begins _PyRuntime of Debian's 3.14.10, as far as it is looked at. */
static void fill_314(uint64_t *words)
{
	memset(words, 0, WORDS * sizeof(words[0]));
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030e0af0;
	words[26] = 72;
	words[32] = 8;
	words[34] = 56;
	words[36] = 74;
	words[40] = 112;
	words[42] = 128;
	words[43] = 136;
	words[44] = 68;
	words[48] = 208;
	words[80] = 40;
}

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static void every_version_from_38_to_314_is_known_and_no_other(void **state)
{
	(void)state;
	for (uint32_t version = 0x0308; version <= 0x030e; version++)
		assert_int_equal(python_offsets_find(version)->version, version);
	assert_null(python_offsets_find(0x0307));
	assert_null(python_offsets_find(0x030f));
	assert_null(python_offsets_find(0));
}

static void the_table_for_debuggers_is_believed_if_all_of_it_agrees(void **state)
{
	const struct python_offsets *o = python_offsets_find(0x030e);
	static const unsigned used[] = {0, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80};
	uint64_t words[WORDS];

	(void)state;
	fill_314(words);
	assert_true(python_offsets_check_runtime(o, address_of(words)));
	for (unsigned i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		fill_314(words);
		words[used[i]] ^= 8;
		assert_false(python_offsets_check_runtime(o, address_of(words)));
	}
	assert_false(python_offsets_check_runtime(o, 8)); /* nothing is there */
}

static void an_interpreter_without_a_gil_is_refused(void **state)
{
	uint64_t words[WORDS];

	(void)state;
	fill_314(words);
	assert_false(python_offsets_is_free_threaded(0x030e, address_of(words)));
	words[2] = 1;
	assert_true(python_offsets_is_free_threaded(0x030e, address_of(words)));
	assert_false(python_offsets_check_runtime(python_offsets_find(0x030e), address_of(words)));
	/* Versions before it have no such table: what lies there is something else. */
	assert_false(python_offsets_is_free_threaded(0x030c, address_of(words)));
	assert_true(python_offsets_check_runtime(python_offsets_find(0x030c), address_of(words)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_from_38_to_314_is_known_and_no_other),
		cmocka_unit_test(the_table_for_debuggers_is_believed_if_all_of_it_agrees),
		cmocka_unit_test(an_interpreter_without_a_gil_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
