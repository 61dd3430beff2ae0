/* program_test.c -- what a program's file says about how it can be recorded.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "symbol/program.h"

static void a_program_with_a_loader_is_not_static(void **state)
{
	struct program_facts facts = program_examine("/proc/self/exe");

	(void)state;
	assert_true(facts.is_elf);
	assert_false(facts.is_static);
#if defined(__x86_64__)
	assert_int_equal(facts.machine, EM_X86_64);
#elif defined(__aarch64__)
	assert_int_equal(facts.machine, EM_AARCH64);
#endif
}

static void check_nothing(const char *path)
{
	struct program_facts facts = program_examine(path);

	assert_false(facts.is_elf);
	assert_false(facts.is_static);
	assert_null(facts.sanitizer);
	assert_false(facts.has_runtime);
}

static void of_what_is_no_program_nothing_is_known(void **state)
{
	(void)state;
	check_nothing("/dev/null");
	check_nothing("/");
	check_nothing("/nonexistent/program");
	check_nothing("CMakeLists.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_with_a_loader_is_not_static),
		cmocka_unit_test(of_what_is_no_program_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
