/* guard_test.c -- which requests the server answers at all. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "serve/guard.h"

static bool lets_in_host(const char *host, const char *address)
{
	const struct guard_headers h = {.host = host};

	return guard_lets_in(&h, address);
}

static void this_machine_is_let_in_by_number_and_name(void **state)
{
	static const char *const hosts[] = {"127.0.0.1",	"127.0.0.1:8080", "localhost",
					    "LocalHost:1",	"[::1]",	  "[::1]:65535",
					    "localhost:0000001"};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (!lets_in_host(hosts[i], NULL))
			fail_msg("%s was refused", hosts[i]);
}

static void other_hosts_are_refused_in_every_form(void **state)
{
	static const char *const hosts[] = {
		"",
		":80",
		"evil.example",
		"127.0.0.1.evil.example",
		"127.0.0.1@evil.example",
		"evil.example#127.0.0.1",
		"localhost.evil.example:80",
		"localhost.",
		"localhost:",
		"localhost:80:80",
		"localhost:80evil",
		"localhost:-1",
		"127.0.0.2",
		"127.1",
		"2130706433",
		"0.0.0.0",
		"[::1",
		"[::1]x",
		"[::1]evil.example",
		"[]",
		"[",
		"::1",
		" localhost",
		"localhost ",
		"[127.0.0.1]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (lets_in_host(hosts[i], NULL))
			fail_msg("'%s' was let in", hosts[i]);
	assert_false(lets_in_host(NULL, "127.0.0.1"));
}

static void the_address_that_the_user_chose_is_let_in(void **state)
{
	(void)state;
	assert_true(lets_in_host("192.0.2.7:8080", "192.0.2.7"));
	assert_true(lets_in_host("[2001:db8::1]:8080", "2001:db8::1"));
	assert_false(lets_in_host("192.0.2.70", "192.0.2.7"));
	assert_false(lets_in_host("192.0.2.7", NULL));
	assert_false(lets_in_host("", ""));
	assert_false(lets_in_host("[]", ""));
}

static void pages_of_other_origins_get_nothing(void **state)
{
	static const char *const origins[] = {"null",
					      "",
					      "http://evil.example",
					      "https://localhost:80",
					      "http://localhost",
					      "http://localhost:81",
					      "http://localhost:80.evil.example",
					      "localhost:80"};
	struct guard_headers h = {.host = "localhost:80", .origin = "http://localhost:80"};

	(void)state;
	assert_true(guard_lets_in(&h, NULL));
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		h.origin = origins[i];
		if (guard_lets_in(&h, NULL))
			fail_msg("'%s' was let in", origins[i]);
	}
}

static void other_sites_may_lead_here_but_not_ask(void **state)
{
	struct guard_headers h = {.host = "localhost"};

	(void)state;
	h.fetch_site = "same-origin";
	assert_true(guard_lets_in(&h, NULL));
	h.fetch_site = "none";
	assert_true(guard_lets_in(&h, NULL));
	h.fetch_site = "cross-site";
	assert_false(guard_lets_in(&h, NULL));
	h.fetch_mode = "no-cors";
	assert_false(guard_lets_in(&h, NULL));
	h.fetch_mode = "navigate";
	assert_true(guard_lets_in(&h, NULL));
	h.fetch_site = "same-site"; /* another port of this machine */
	h.fetch_mode = "cors";
	assert_false(guard_lets_in(&h, NULL));
}

static void cookies_are_found_by_their_whole_name(void **state)
{
	char value[8];

	(void)state;
	assert_true(guard_find_cookie("midden-80=abc", "midden-80", value, sizeof(value)));
	assert_string_equal(value, "abc");
	assert_true(
		guard_find_cookie("a=1;  midden-80=x=y; b=2", "midden-80", value, sizeof(value)));
	assert_string_equal(value, "x=y");
	assert_true(guard_find_cookie("midden-80=", "midden-80", value, sizeof(value)));
	assert_string_equal(value, "");
	assert_false(guard_find_cookie("xmidden-80=abc", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie("midden-8=abc", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie("midden-801=abc", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie("midden-80", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie("a=midden-80=abc", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie(";;; ; ", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie("", "midden-80", value, sizeof(value)));
	assert_false(guard_find_cookie(NULL, "midden-80", value, sizeof(value)));
}

static void a_cookie_that_is_too_long_is_none(void **state)
{
	char value[8];

	(void)state;
	memset(value, 'z', sizeof(value));
	assert_true(guard_find_cookie("c=1234567", "c", value, sizeof(value)));
	assert_string_equal(value, "1234567");
	assert_false(guard_find_cookie("c=12345678", "c", value, sizeof(value)));
	assert_true(guard_find_cookie("c=12345678; c=short", "c", value, sizeof(value)));
	assert_string_equal(value, "short");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_machine_is_let_in_by_number_and_name),
		cmocka_unit_test(other_hosts_are_refused_in_every_form),
		cmocka_unit_test(the_address_that_the_user_chose_is_let_in),
		cmocka_unit_test(pages_of_other_origins_get_nothing),
		cmocka_unit_test(other_sites_may_lead_here_but_not_ask),
		cmocka_unit_test(cookies_are_found_by_their_whole_name),
		cmocka_unit_test(a_cookie_that_is_too_long_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
