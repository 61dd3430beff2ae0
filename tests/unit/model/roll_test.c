/* roll_test.c -- whose recordings are added up, and which of them twice. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/roll.h"

static struct profile *make_recording(const char *program, uint32_t pid, uint64_t start_unix_ns)
{
	struct profile *p = profile_new();

	p->run.program = profile_add_string(p, program);
	p->run.host = profile_add_string(p, "here");
	p->run.pid = pid;
	p->run.start_unix_ns = start_unix_ns;
	return p;
}

static void add_input(struct profile *p, const char *program, uint32_t pid, uint64_t start_unix_ns)
{
	struct profile_input in = {
		.program = profile_add_string(p, program),
		.host = profile_add_string(p, "here"),
		.pid = pid,
		.start_unix_ns = start_unix_ns,
	};

	*vec_push(&p->inputs) = in;
}

static void add(struct roll *r, struct profile *p, const char *file)
{
	roll_add(r, p, file);
	profile_free(p);
}

static void assert_doubles(struct roll *r, const char *expected)
{
	char *text = roll_describe_doubles(r);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
	roll_fini(r);
}

static void programs_that_one_process_became_are_not_doubles(void **state)
{
	struct roll r = {0};

	(void)state;
	add(&r, make_recording("sh", 7, 100), "a");
	add(&r, make_recording("env", 7, 200), "b");
	add(&r, make_recording("env", 7, 300), "c");
	add(&r, make_recording("env", 8, 300), "d");
	assert_doubles(&r, NULL);
}

static void of_who_has_no_start_nobody_knows(void **state)
{
	struct roll r = {0};
	struct profile *p = make_recording("sh", 7, 0);

	(void)state;
	roll_add(&r, p, "a");
	assert_false(roll_has_all(&r, p));
	add(&r, p, "b");
	assert_doubles(&r, NULL);
}

static void a_process_that_is_there_twice_is_named(void **state)
{
	struct roll r = {0};

	(void)state;
	add(&r, make_recording("sh", 7, 100), "a");
	add(&r, make_recording("sh", 7, 100), "b");
	add(&r, make_recording("sh", 7, 100), "c");
	assert_doubles(&r, "process 7 (sh) is counted more than once: it is in a and again in b");
}

static void a_merged_profile_stands_for_what_it_is_made_of(void **state)
{
	struct roll r = {0};
	struct profile *merged = make_recording("sh", 0, 100);

	(void)state;
	add_input(merged, "sh", 7, 100);
	add_input(merged, "sh", 8, 150);
	add(&r, make_recording("sh", 8, 150), "8");
	assert_false(roll_has_all(&r, merged));
	add(&r, make_recording("sh", 7, 100), "7");
	assert_true(roll_has_all(&r, merged));
	add(&r, merged, "all");
	assert_doubles(&r, "process 7 (sh) is counted more than once: it is in 7 and again in all; "
			   "so is 1 other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_that_one_process_became_are_not_doubles),
		cmocka_unit_test(of_who_has_no_start_nobody_knows),
		cmocka_unit_test(a_process_that_is_there_twice_is_named),
		cmocka_unit_test(a_merged_profile_stands_for_what_it_is_made_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
