/* fold_test.c -- recursion folded. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "model/fold.h"
#include "sample.h"

static const struct model_options usual = {0};

/* Folds a stack written leaf first with one letter per function; marks are (cycle x repeats). */
static void assert_fold(const char *functions, const char *expected)
{
	struct profile *p = sample_new();
	struct model_stack stack = {0};
	struct fold fold = {0};
	char text[256] = "";
	uint32_t node = 0;

	for (size_t i = strlen(functions); i-- > 0;) {
		char name[2] = {functions[i], '\0'};
		/* Lines differ: functions are what is compared. */
		node = sample_node(p, node, name, (uint32_t)i + 1);
	}
	sample_site(p, node, 10, 1);
	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &stack);
	fold_stack(m, &stack, &fold);
	assert_int_equal(fold.marks.count, stack.frames.count);
	for (size_t i = 0; i < stack.frames.count; i++) {
		size_t used = strlen(text);
		struct fold_mark mark = fold.marks.at[i];
		if (mark.repeats > 1)
			(void)snprintf(text + used, sizeof(text) - used, "(%ux%u)",
				       (unsigned)mark.cycle, (unsigned)mark.repeats);
		used = strlen(text);
		(void)snprintf(text + used, sizeof(text) - used, "%s",
			       model_get_frame(m, stack.frames.at[i])->function);
	}
	assert_string_equal(text, expected);
	vec_free(&stack.frames);
	vec_free(&fold.marks);
	model_free(m);
	profile_free(p);
}

static void what_does_not_repeat_stays(void **state)
{
	(void)state;
	assert_fold("abcm", "abcm");
	assert_fold("abam", "abam");
	assert_fold("m", "m");
}

static void a_run_of_one_function_is_one(void **state)
{
	(void)state;
	assert_fold("fffm", "(1x3)fm");
	assert_fold("xffm", "x(1x2)fm");
}

static void a_cycle_is_shown_once(void **state)
{
	(void)state;
	assert_fold("ababm", "(2x2)abm");
	assert_fold("abcabcabcm", "(3x3)abcm");
	assert_fold("ababam", "(2x2)abam");
}

static void the_repetition_that_takes_more_wins(void **state)
{
	(void)state;
	assert_fold("aaaam", "(1x4)am");
	assert_fold("aabaabm", "(3x2)aabm");
}

static void a_cycle_that_is_too_long_stays(void **state)
{
	(void)state;
	assert_fold("abcdefghijklmnopqabcdefghijklmnopqz", "abcdefghijklmnopqabcdefghijklmnopqz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_repeat_stays),
		cmocka_unit_test(a_run_of_one_function_is_one),
		cmocka_unit_test(a_cycle_is_shown_once),
		cmocka_unit_test(the_repetition_that_takes_more_wins),
		cmocka_unit_test(a_cycle_that_is_too_long_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
