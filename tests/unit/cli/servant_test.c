/* servant_test.c -- where a recording is served. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/servant.h"

static void addresses_and_ports_are_read(void **state)
{
	static const struct {
		const char *text;
		const char *address;
		uint16_t port;
	} good[] = {
		{NULL, "127.0.0.1", 0},	     {"", "127.0.0.1", 0},
		{"1", "127.0.0.1", 0},	     {"9464", "127.0.0.1", 9464},
		{"0.0.0.0", "0.0.0.0", 0},   {"10.1.2.3:80", "10.1.2.3", 80},
		{"::1", "::1", 0},	     {"[::1]", "::1", 0},
		{"[::1]:9464", "::1", 9464},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct servant_options o = {0};
		struct error e = {0};

		assert_int_equal(servant_parse_address(&o, good[i].text, &e), 0);
		assert_true(o.wanted);
		assert_string_equal(o.address, good[i].address);
		assert_int_equal(o.port, good[i].port);
	}
}

static void other_texts_are_none(void **state)
{
	static const char *const bad[] = {
		"localhost",	 "127.0.0.1:",	 "127.0.0.1:x", "127.0.0.1:65536", "70000", "[::1",
		"[::1]9",	 "127.0.0.1:-1", ":80",		"127.0.0.256",	   "[]:80", "-1",
		"1.2.3.4:1:2:3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct servant_options o = {0};
		struct error e = {0};

		assert_int_equal(servant_parse_address(&o, bad[i], &e), -1);
		assert_true(e.set);
	}
}

static void a_token_is_told_only_if_it_was_made_here(void **state)
{
	struct servant_options o = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(servant_parse_address(&o, "[::1]:5", &e), 0);
	assert_int_equal(servant_prepare(&o, &e), 0);
	char *url = servant_make_url(&o);
	assert_int_equal(strlen(o.token), 32);
	assert_memory_equal(url, "http://[::1]:5/?token=", 22);
	assert_string_equal(url + 22, o.token);
	free(url);
	o.is_token_given = true;
	url = servant_make_url(&o);
	assert_string_equal(url, "http://[::1]:5/");
	free(url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_and_ports_are_read),
		cmocka_unit_test(other_texts_are_none),
		cmocka_unit_test(a_token_is_told_only_if_it_was_made_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
