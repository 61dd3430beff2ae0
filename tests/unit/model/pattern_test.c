/* pattern_test.c -- globs and regular expressions for names. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/pattern.h"

static bool has_function(const char *text, const char *function)
{
	struct error e = {0};
	struct pattern *p = pattern_new(text, &e);

	assert_non_null(p);
	bool found = pattern_has_function(p, function);
	pattern_free(p);
	return found;
}

static bool has_module(const char *text, const char *path)
{
	struct error e = {0};
	struct pattern *p = pattern_new(text, &e);

	assert_non_null(p);
	bool found = pattern_has_module(p, path);
	pattern_free(p);
	return found;
}

static void a_plain_word_is_the_whole_name(void **state)
{
	(void)state;
	assert_true(has_function("load", "load"));
	assert_false(has_function("load", "reload"));
	assert_false(has_function("load", "loader"));
}

static void a_glob_stands_for_many(void **state)
{
	(void)state;
	assert_true(has_function("load*", "loader"));
	assert_true(has_function("*oad", "reload"));
	assert_true(has_function("l?ad", "load"));
	assert_false(has_function("l?ad", "lad"));
}

static void a_word_finds_a_method_whatever_its_class_and_parameters(void **state)
{
	(void)state;
	assert_true(has_function("find", "ns::table<int>::find<char>(int, char const*) const"));
	assert_true(has_function("find", "std::string ns::find(int)"));
	assert_true(has_function("ns::table<int>::find", "ns::table<int>::find(int)"));
	assert_true(has_function("*table*", "ns::table<int>::find(int)"));
	assert_true(has_function("f", "(anonymous namespace)::f(int)"));
	assert_true(has_function("run", "void run<int>(int)"));
	assert_false(has_function("char", "ns::table<int>::find<char>(int)"));
	assert_false(has_function("int", "ns::find(int)"));
}

static void odd_names_do_no_harm(void **state)
{
	(void)state;
	assert_false(has_function("x", ""));
	assert_false(has_function("x", ")"));
	assert_false(has_function("x", "<<<"));
	assert_false(has_function("x", "operator()(int)"));
	assert_true(has_function("a::operator()", "a::operator()(int) const"));
	assert_false(has_function("x", ">)>)"));
}

static void a_regular_expression_is_searched_for(void **state)
{
	(void)state;
	assert_true(has_function("/oa/", "load"));
	assert_true(has_function("/^load|save$/", "autosave"));
	assert_false(has_function("/^oad/", "load"));
}

static void a_module_is_found_by_path_name_or_stem(void **state)
{
	(void)state;
	assert_true(has_module("libz", "/usr/lib/libz.so.1.3"));
	assert_true(has_module("libz.so*", "/usr/lib/libz.so.1.3"));
	assert_true(has_module("/usr/lib/*", "/usr/lib/libz.so.1.3"));
	assert_true(has_module("/lib[xz]/", "/usr/lib/libz.so.1.3"));
	assert_true(has_module("app", "/src/app"));
	assert_false(has_module("lib", "/usr/lib/libz.so.1.3"));
}

static void wrong_patterns_are_refused_with_a_reason(void **state)
{
	struct error e = {0}, other = {0};

	(void)state;
	assert_null(pattern_new("", &e));
	assert_true(e.set);
	assert_null(pattern_new("/(/", &other));
	assert_non_null(strstr(other.text, "/(/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_word_is_the_whole_name),
		cmocka_unit_test(a_glob_stands_for_many),
		cmocka_unit_test(a_word_finds_a_method_whatever_its_class_and_parameters),
		cmocka_unit_test(odd_names_do_no_harm),
		cmocka_unit_test(a_regular_expression_is_searched_for),
		cmocka_unit_test(a_module_is_found_by_path_name_or_stem),
		cmocka_unit_test(wrong_patterns_are_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
