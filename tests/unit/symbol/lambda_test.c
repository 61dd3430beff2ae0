/* lambda_test.c -- lambdas by one name, whoever named them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/lambda.h"

static void assert_unified(const char *name, const char *numbered, const char *bare)
{
	char *with = lambda_unify(name, true), *without = lambda_unify(name, false);

	assert_string_equal(with ? with : name, numbered);
	assert_string_equal(without ? without : name, bare);
	free(with);
	free(without);
}

static void every_spelling_becomes_the_same(void **state)
{
	(void)state;
	assert_unified("f()::{lambda(int)#2}::operator()(int) const",
		       "f()::{lambda#2}::operator()(int) const",
		       "f()::{lambda}::operator()(int) const");
	assert_unified("f()::$_1::operator()(int) const", "f()::{lambda#2}::operator()(int) const",
		       "f()::{lambda}::operator()(int) const");
	assert_unified("f()::'lambda0'(int)::operator()(int) const",
		       "f()::{lambda#2}::operator()(int) const",
		       "f()::{lambda}::operator()(int) const");
	assert_unified("f::<lambda(std::vector<int>)>::operator()", "f::{lambda}::operator()",
		       "f::{lambda}::operator()");
	assert_unified("f::{unnamed}::operator()", "f::{lambda}::operator()",
		       "f::{lambda}::operator()");
	assert_unified("call<main::$_0, g()::{lambda({unnamed type#1})#12}>",
		       "call<main::{lambda#1}, g()::{lambda#12}>",
		       "call<main::{lambda}, g()::{lambda}>");
}

static void what_is_unified_stays_as_it_is(void **state)
{
	(void)state;
	assert_unified("f()::{lambda#2}::operator()() const", "f()::{lambda#2}::operator()() const",
		       "f()::{lambda}::operator()() const");
	assert_null(lambda_unify("f()::{lambda}::operator()", true));
	assert_null(lambda_unify("std::vector<int>::reserve(unsigned long)", true));
}

static void other_names_are_left_alone(void **state)
{
	static const char *const names[] = {
		"",
		"lambda",
		"a<lambda",
		"{lambda(int)#1",
		"'lambda",
		"'lambda'(",
		"price$_2",
		"$_2x",
		"$",
		"f({unnamed type#1})",
		"{unnamed}::go",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_null(lambda_unify(names[i], true));
}

static void a_name_of_many_beginnings_takes_no_time_to_speak_of(void **state)
{
	size_t bytes = 8u << 20;
	char *name = malloc(bytes + 1);

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < bytes; i++)
		name[i] = "{lambda("[i % 8];
	name[bytes] = '\0';
	assert_null(lambda_unify(name, true));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_becomes_the_same),
		cmocka_unit_test(what_is_unified_stays_as_it_is),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(a_name_of_many_beginnings_takes_no_time_to_speak_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
