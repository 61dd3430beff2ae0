/* canonical_test.c -- one function has one name in all builds. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/canonical.h"

static void assert_name(const char *name, const char *expected)
{
	char *got = canonical_name(name);

	assert_string_equal(got, expected);
	free(got);
}

static void assert_loose(const char *name, const char *expected)
{
	char *got = canonical_loose_name(name);

	assert_string_equal(got, expected);
	free(got);
}

static void assert_bare(const char *name, const char *expected)
{
	char *got = canonical_bare_name(name);

	assert_string_equal(got, expected);
	free(got);
}

static void marks_of_clones_are_left_out(void **state)
{
	(void)state;
	assert_name("grow.constprop.0", "grow");
	assert_name("grow.isra.0.constprop.3", "grow");
	assert_name("grow.part.0.cold", "grow");
	assert_name("grow.cold.12", "grow");
	assert_name("grow.llvm.1234567", "grow");
	assert_name("grow(int) [clone .isra.0]", "grow(int)");
	assert_name("grow(int) [clone .part.0] [clone .cold]", "grow(int)");
}

static void dots_that_belong_to_a_name_stay(void **state)
{
	(void)state;
	assert_name("runtime.mallocgc", "runtime.mallocgc");
	assert_name("std.stdio.writeln", "std.stdio.writeln");
	assert_name("main._omp_fn.0", "main._omp_fn.0");
	assert_name("a.0", "a.0");
	assert_name(".cold", ".cold");
	assert_name("", "");
	assert_name("operator[]", "operator[]");
	assert_name("]", "]");
}

static void numbers_of_lambdas_closures_and_unnamed_types_are_left_out(void **state)
{
	(void)state;
	assert_name("main::{lambda(int)#12}::operator()(int) const",
		    "main::{lambda}::operator()(int) const");
	assert_name("run()::$_3::operator()() const", "run()::{lambda}::operator()() const");
	assert_name("run()::'lambda0'(int)::operator()", "run()::{lambda}::operator()");
	assert_name("app::run::{closure#2}", "app::run::{closure#}");
	assert_name("f({unnamed type#1})", "f({unnamed type#})");
	assert_name("array<3>::get(int#7)", "array<3>::get(int#7)");
}

static void the_hash_of_a_rust_name_is_left_out(void **state)
{
	(void)state;
	assert_name("app::run::h0123456789abcdef", "app::run");
	assert_name("app::run::h0123456789abcdeg", "app::run::h0123456789abcdeg");
	assert_name("app::h012", "app::h012");
}

static void a_loose_name_has_no_parameters_return_type_or_qualifiers(void **state)
{
	(void)state;
	assert_loose("table::add(int, std::vector<int> const&) const", "table::add");
	assert_loose("void fill<int>(int*, int)", "fill<int>");
	assert_loose("(anonymous namespace)::add(int)", "(anonymous namespace)::add");
	assert_loose("std::function<void (int)>::operator()(int) const",
		     "std::function<void >::operator()");
	assert_loose("operator new(unsigned long)", "operator new");
	assert_loose("bool operator< <int>(a<int> const&)", "operator< <int>");
	assert_loose("operator bool", "operator bool");
	assert_loose("plain_c_function", "plain_c_function");
}

static void a_lambda_is_the_same_in_symbol_tables_and_debug_information(void **state)
{
	(void)state;
	assert_loose("run(int)::{lambda(int)#1}::operator()(int) const",
		     "run::{lambda}::operator()");
	assert_loose("run::<lambda(int)>::operator()", "run::{lambda}::operator()");
	assert_loose("run::{unnamed}::operator()", "run::{lambda}::operator()");
	assert_loose("run()::$_2::operator()(int) const", "run::{lambda}::operator()");
	assert_loose("run()::'lambda0'(int)::operator()(int) const", "run::{lambda}::operator()");
	assert_loose("app::run::{{closure}}", "app::run::{lambda}");
}

static void a_bare_name_has_no_arguments_of_templates(void **state)
{
	(void)state;
	assert_bare("std::vector<int>::push_back(int const&)", "std::vector::push_back");
	assert_bare("std::string::basic_string<std::allocator<char>>(char const*)",
		    "std::string::basic_string");
	assert_bare("bool operator< <int>(a<int> const&)", "operator<");
	assert_bare("int call<main::{lambda(int)#1}&, int>(main::{lambda(int)#1}&)", "call");
	assert_bare("<app::Table as core::ops::Drop>::drop",
		    "<app::Table as core::ops::Drop>::drop");
	assert_bare("a<b>::operator->() const", "a::operator->");
}

static void names_that_make_no_sense_do_no_harm(void **state)
{
	static const char *const names[] = {"(",      "((a",	  "{lambda",  "<lambda(",
					    " const", "a (",	  "operator", ")",
					    ">",      " [clone ", "#",	      "$_1"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		free(canonical_name(names[i]));
		free(canonical_loose_name(names[i]));
		free(canonical_bare_name(names[i]));
	}
}

/* A profile can hold names of many megabytes. */
static void a_name_of_a_million_numbers_takes_no_stack(void **state)
{
	const size_t numbers = 1000000;
	char *name = malloc(2 * numbers + 2);

	(void)state;
	assert_non_null(name);
	name[0] = 'f';
	for (size_t i = 0; i < numbers; i++)
		memcpy(name + 1 + 2 * i, ".0", 3);
	char *canonical = canonical_name(name);
	assert_string_equal(canonical, name);
	free(canonical);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_of_clones_are_left_out),
		cmocka_unit_test(dots_that_belong_to_a_name_stay),
		cmocka_unit_test(numbers_of_lambdas_closures_and_unnamed_types_are_left_out),
		cmocka_unit_test(the_hash_of_a_rust_name_is_left_out),
		cmocka_unit_test(a_loose_name_has_no_parameters_return_type_or_qualifiers),
		cmocka_unit_test(a_lambda_is_the_same_in_symbol_tables_and_debug_information),
		cmocka_unit_test(a_bare_name_has_no_arguments_of_templates),
		cmocka_unit_test(names_that_make_no_sense_do_no_harm),
		cmocka_unit_test(a_name_of_a_million_numbers_takes_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
