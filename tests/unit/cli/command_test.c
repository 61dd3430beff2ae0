/* command_test.c -- commands by name, and by nearly their name. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/command.h"

static void every_command_is_complete_and_found_by_its_name(void **state)
{
	const struct command *c;

	(void)state;
	for (size_t i = 0; (c = command_get(i)); i++) {
		assert_ptr_equal(command_find(c->name), c);
		assert_non_null(c->run);
		if (c->hidden)
			continue;
		assert_true(strlen(c->summary) > 0);
		assert_int_equal(c->help[strlen(c->help) - 1], '\n');
	}
	assert_null(command_find("nonsense"));
}

static void a_misspelt_command_is_recognised(void **state)
{
	(void)state;
	assert_ptr_equal(command_find_nearest("reprot"), &command_report);
	assert_ptr_equal(command_find_nearest("stat"), &command_stats);
	assert_ptr_equal(command_find_nearest("recrod"), &command_record);
}

static void another_word_is_not_taken_for_a_command(void **state)
{
	(void)state;
	assert_null(command_find_nearest("banana"));
	assert_null(command_find_nearest(""));
	assert_null(command_find_nearest("a-word-that-is-longer-than-any-command-could-ever-be"));
}

static void hidden_commands_are_never_suggested(void **state)
{
	(void)state;
	assert_true(command_collect.hidden);
	assert_null(command_find_nearest(command_collect.name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_is_complete_and_found_by_its_name),
		cmocka_unit_test(a_misspelt_command_is_recognised),
		cmocka_unit_test(another_word_is_not_taken_for_a_command),
		cmocka_unit_test(hidden_commands_are_never_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
