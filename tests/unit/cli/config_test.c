/* config_test.c -- files of settings: what they say, and what is wrong with them. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/config.h"

static void assert_entry(const struct config *c, size_t i, const char *profile, const char *key,
			 const char *value, const char *origin)
{
	assert_true(i < c->entries.count);
	assert_string_equal(c->entries.at[i].profile, profile);
	assert_string_equal(c->entries.at[i].key, key);
	assert_string_equal(c->entries.at[i].value, value);
	assert_string_equal(c->entries.at[i].origin, origin);
}

static void sections_and_values_are_read(void **state)
{
	static const char text[] = "# first\n"
				   "; second\n"
				   "[record]\n"
				   "follow = true\r\n"
				   "output=\"a \\\"b\\\" \\\\ #c.mdn\"  # quoted\n"
				   "snapshot-at = rss=2G,live=1G # two\n"
				   "  python =\n"
				   "[ profile.big-one ]  # [a comment]\n"
				   "buffer = 64M#x";
	struct config c = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(config_parse(&c, text, sizeof(text) - 1, "f", &e), 0);
	assert_int_equal(c.entries.count, 5);
	assert_entry(&c, 0, "", "follow", "true", "f:4");
	assert_entry(&c, 1, "", "output", "a \"b\" \\ #c.mdn", "f:5");
	assert_entry(&c, 2, "", "snapshot-at", "rss=2G,live=1G", "f:6");
	assert_entry(&c, 3, "", "python", "", "f:7");
	assert_entry(&c, 4, "big-one", "buffer", "64M#x", "f:9");
	config_free(&c);
}

static void assert_fault(const char *text, size_t bytes, const char *message)
{
	struct config c = {0};
	struct error e = {0};

	assert_int_equal(config_parse(&c, text, bytes, "f", &e), -1);
	assert_string_equal(e.text, message);
	config_free(&c);
}

#define FAULT(text, message) assert_fault(text, sizeof(text) - 1, message)

static void what_makes_no_sense_is_named_with_its_line(void **state)
{
	static const char quotes[] =
		"f:2: what is between \" and \" must end in its line, with nothing behind";

	(void)state;
	FAULT("follow = true", "f:1: begin a section first: [record] or [profile.NAME]");
	FAULT("\n[record\n", "f:2: the section's name has no ]");
	FAULT("[report]", "f:1: a section is [record] or [profile.NAME]");
	FAULT("[profile.]", "f:1: a section is [record] or [profile.NAME]");
	FAULT("[]", "f:1: a section is [record] or [profile.NAME]");
	FAULT("[record] x]", "f:1: behind a section's ] there can only be a comment");
	FAULT("[", "f:1: the section's name has no ]");
	FAULT("[record]\nfollow\n", "f:2: a line is KEY = VALUE");
	FAULT("[record]\nfol low = 1\n", "f:2: a key is made of letters, digits and -");
	FAULT("[record]\n= 1\n", "f:2: a key is made of letters, digits and -");
	FAULT("[record]\noutput = \"a\n", quotes);
	FAULT("[record]\noutput = \"a\" b\n", quotes);
	FAULT("[record]\nout\0put = 1\n", "f:2: this is not text");
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct config c = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(config_read(&c, "/nowhere/at/all", &e), -1);
	assert_non_null(strstr(e.text, "/nowhere/at/all"));
	assert_int_equal(config_read(&c, "/dev/null", &e), 0);
	assert_int_equal(c.entries.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_and_values_are_read),
		cmocka_unit_test(what_makes_no_sense_is_named_with_its_line),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
