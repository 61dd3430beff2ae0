/* utf8_test.c -- which byte sequences are UTF-8. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/utf8.h"

static void given_well_formed_text_then_code_point_and_length_are_right(void **state)
{
	uint32_t code;

	(void)state;
	assert_int_equal(utf8_decode("a", &code), 1);
	assert_int_equal(code, 'a');
	assert_int_equal(utf8_decode("\xc3\xa9", &code), 2);
	assert_int_equal(code, 0xe9);
	assert_int_equal(utf8_decode("\xe2\x82\xac", &code), 3);
	assert_int_equal(code, 0x20ac);
	assert_int_equal(utf8_decode("\xf4\x8f\xbf\xbf", &code), 4);
	assert_int_equal(code, 0x10ffff);
}

static void given_bytes_that_are_not_utf8_then_none_decodes(void **state)
{
	static const char *const bad[] = {
		"\x80",		    /* a continuation byte alone */
		"\xc0\xaf",	    /* overlong */
		"\xe0\x80\xaf",	    /* overlong */
		"\xf0\x80\x80\xaf", /* overlong */
		"\xed\xa0\x80",	    /* a surrogate */
		"\xf4\x90\x80\x80", /* past U+10FFFF */
		"\xff",
		"\xe2\x82", /* cut off by the end of the text */
	};
	uint32_t code;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(utf8_decode(bad[i], &code), 0);
}

static void length_counts_code_points_and_bad_bytes(void **state)
{
	(void)state;
	assert_int_equal(utf8_length(""), 0);
	assert_int_equal(utf8_length("a\xc3\xa9\xff!"), 4);
}

static void controls_reordering_marks_and_no_characters_are_unsafe(void **state)
{
	static const uint32_t bad[] = {0,      '\n',   0x7f,   0x9b,   0x200e,	0x2028,
				       0x202e, 0x2066, 0xfeff, 0xfffe, 0x1ffff, 0x10ffff};
	static const uint32_t good[] = {' ', '~', 0xa0, 0xe9, 0x2027, 0xfffd, 0x1f600};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_true(utf8_is_unsafe(bad[i]));
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_false(utf8_is_unsafe(good[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_well_formed_text_then_code_point_and_length_are_right),
		cmocka_unit_test(given_bytes_that_are_not_utf8_then_none_decodes),
		cmocka_unit_test(length_counts_code_points_and_bad_bytes),
		cmocka_unit_test(controls_reordering_marks_and_no_characters_are_unsafe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
