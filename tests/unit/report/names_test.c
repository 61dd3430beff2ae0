/* names_test.c -- names are safe to print and short enough. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "report/names.h"

static void assert_escaped(const char *text, bool utf8, const char *expected)
{
	char *escaped = names_escape(text, utf8);

	assert_string_equal(escaped, expected);
	free(escaped);
}

static void what_could_take_over_a_terminal_is_made_visible(void **state)
{
	(void)state;
	assert_escaped("plain <name>(int)", true, "plain <name>(int)");
	assert_escaped("\033[31mred\n", true, "\\x1b[31mred\\x0a");
	assert_escaped("del\177", true, "del\\x7f");
	assert_escaped("\xc2\x9b", true, "\\u009b"); /* C1: another way to say ESC [ */
	assert_escaped("a\xe2\x80\xae"
		       "b",
		       true, "a\\u202eb"); /* right-to-left override */
	assert_escaped("\xff", true, "\\xff");
}

static void without_utf8_only_ascii_is_printed(void **state)
{
	(void)state;
	assert_escaped("caf\xc3\xa9", true, "caf\xc3\xa9");
	assert_escaped("caf\xc3\xa9", false, "caf\\u00e9");
	assert_escaped("\xf0\x9f\x98\x80", false, "\\U0001f600");
}

static void assert_shortened(const char *text, size_t columns, bool utf8, const char *expected)
{
	char *copy = mem_copy_string(text);

	names_shorten(copy, columns, utf8);
	assert_string_equal(copy, expected);
	free(copy);
}

static void a_long_name_loses_its_middle(void **state)
{
	(void)state;
	assert_shortened("abcdefghij", 10, false, "abcdefghij");
	assert_shortened("abcdefghijklmnop", 9, false, "abcd...op");
	assert_shortened("abcdefghijklmnop", 7, true, "abcd\xe2\x80\xa6op");
}

static void a_shortened_name_never_exceeds_the_columns(void **state)
{
	(void)state;
	for (size_t columns = 3; columns < 20; columns++) {
		char *copy = mem_copy_string("\xc3\xa9\xc3\xa9nd_of_\xc3\xa9verything");
		names_shorten(copy, columns, true);
		assert_true(utf8_length(copy) <= columns);
		free(copy);
	}
}

static void assert_label(const struct model_frame *f, const char *name, const char *place)
{
	struct names_label l = names_label(f, "/src", true);

	assert_string_equal(l.name, name);
	assert_string_equal(l.place, place);
	names_label_free(&l);
}

static void a_frame_shows_its_line_or_its_module_or_its_address(void **state)
{
	struct model_frame line = {"f", "/src/app", "/src/sub/a.c", .line = 7};
	struct model_frame elsewhere = {"f", "/src/app", "/srcs/a.c", .line = 7};
	struct model_frame no_line = {"f", "/lib/libz.so.1", "", .line = 0};
	struct model_frame address = {"", "/lib/libz.so.1", "", .offset = 0x1f0};
	struct model_frame nowhere = {"", "", "", .offset = 0x7f00};

	(void)state;
	assert_label(&line, "f", "sub/a.c:7");
	assert_label(&elsewhere, "f", "/srcs/a.c:7");
	assert_label(&no_line, "f", "libz.so.1");
	assert_label(&address, "libz.so.1+0x1f0", "");
	assert_label(&nowhere, "0x7f00", "");
}

static void what_reads_the_same_elsewhere_shows_its_module_too(void **state)
{
	struct model_frame line = {"f", "/src/app", "/usr/include/a.h", .apart = "/src/app",
				   .line = 7};
	struct model_frame no_line = {"f", "/src/app", "", .apart = "/src/app"};
	struct names_label l = names_label(&line, "/src", false);
	char *text = names_plain(&line);

	(void)state;
	assert_string_equal(l.place, "/usr/include/a.h:7, app");
	names_label_fit(&l, 12, false);
	assert_string_equal(l.place, "a.h:7, app");
	assert_string_equal(text, "f (/usr/include/a.h:7)");
	assert_label(&no_line, "f", "app");
	no_line.apart = "/other/app";
	assert_label(&no_line, "f", "/other/app");
	names_label_free(&l);
	free(text);
}

static void the_plain_text_keeps_the_full_path(void **state)
{
	struct model_frame line = {"f", "/src/app", "/src/sub/a.c", .line = 7};
	struct model_frame address = {"", "/lib/libz.so.1", "", .offset = 0x1f0};
	char *text = names_plain(&line);

	(void)state;
	assert_string_equal(text, "f (/src/sub/a.c:7)");
	free(text);
	text = names_plain(&address);
	assert_string_equal(text, "libz.so.1+0x1f0");
	free(text);
}

static void given_too_few_columns_then_directories_go_first_and_the_function_next(void **state)
{
	struct model_frame f = {"a_function_with_a_long_name", "", "/usr/include/x/a.h", .line = 7};
	struct names_label l = names_label(&f, "", false);

	(void)state;
	names_label_fit(&l, 100, false);
	assert_string_equal(l.place, "/usr/include/x/a.h:7");
	names_label_fit(&l, 33, false);
	assert_string_equal(l.place, "a.h:7");
	assert_string_equal(l.name, "a_function_with_a_long_name");
	names_label_fit(&l, 25, false);
	assert_string_equal(l.name, "a_function_w..._name");
	assert_int_equal(strlen(l.name), 20);
	names_label_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_take_over_a_terminal_is_made_visible),
		cmocka_unit_test(without_utf8_only_ascii_is_printed),
		cmocka_unit_test(a_long_name_loses_its_middle),
		cmocka_unit_test(a_shortened_name_never_exceeds_the_columns),
		cmocka_unit_test(a_frame_shows_its_line_or_its_module_or_its_address),
		cmocka_unit_test(what_reads_the_same_elsewhere_shows_its_module_too),
		cmocka_unit_test(the_plain_text_keeps_the_full_path),
		cmocka_unit_test(
			given_too_few_columns_then_directories_go_first_and_the_function_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
