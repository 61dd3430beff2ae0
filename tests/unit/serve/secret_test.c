/* secret_test.c -- texts that cannot be guessed. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "serve/secret.h"

static void a_secret_has_32_hexadecimal_digits(void **state)
{
	char text[SECRET_CHARS + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_true(secret_make(text));
	assert_int_equal(strlen(text), 32);
	assert_int_equal(strspn(text, "0123456789abcdef"), 32);
}

/* 64 of them are all different, at every place: chance would need 2^-200. */
static void no_two_are_alike(void **state)
{
	char text[64][SECRET_CHARS + 1];

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		assert_true(secret_make(text[i]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(text[i], text[j]);
	}
	for (size_t place = 0; place < SECRET_CHARS; place++) {
		size_t same = 0;

		for (size_t i = 1; i < 64; i++)
			same += text[i][place] == text[0][place];
		assert_true(same < 63);
	}
}

static void only_the_whole_secret_is_it(void **state)
{
	static const char secret[SECRET_CHARS + 1] = "0123456789abcdef0123456789abcdef";

	(void)state;
	assert_true(secret_is(secret, "0123456789abcdef0123456789abcdef"));
	assert_false(secret_is(secret, "0123456789abcdef0123456789abcdeF"));
	assert_false(secret_is(secret, "1123456789abcdef0123456789abcdef"));
	assert_false(secret_is(secret, "0123456789abcdef0123456789abcde"));
	assert_false(secret_is(secret, "0123456789abcdef0123456789abcdef0"));
	assert_false(secret_is(secret, ""));
	assert_false(secret_is(secret, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_has_32_hexadecimal_digits),
		cmocka_unit_test(no_two_are_alike),
		cmocka_unit_test(only_the_whole_secret_is_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
