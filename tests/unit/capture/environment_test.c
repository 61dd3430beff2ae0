/* environment_test.c -- the program's environment is left as if we had never been there, and put
 * back for an exec.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/environment.h"
#include "format/env.h"

#define LIBRARY "libmidden.so"
#define SOCKET	ENV_SOCKET "=/run/midden.7"

/* A writable array, as a program has it; and what is expected of one. */
#define ENVIRONMENT(...) ((char *[]){__VA_ARGS__, NULL})
#define EXPECTED(...)	 ((const char *const[]){__VA_ARGS__, NULL})

static char home[] = "HOME=/home";
static char shell[] = "SHELL=/bin/sh";
static char socket_entry[] = SOCKET;

static void check_equal(char *const *found, const char *const *expected)
{
	for (; *expected; found++, expected++) {
		assert_non_null(*found);
		assert_string_equal(*found, *expected);
	}
	assert_null(*found);
}

/* ---- before anything was taken out ----------------------------------------------------------- */

static void when_nothing_was_taken_out_nothing_is_put_back(void **state)
{
	char **environment = ENVIRONMENT(home, shell);

	(void)state;
	environment_clean(environment, LIBRARY);
	check_equal(environment, EXPECTED(home, shell));
	assert_ptr_equal(environment_restore(environment), environment);
}

/* ---- clean ----------------------------------------------------------------------------------- */

/* Cleans LD_PRELOAD=`before` between two other entries; NULL for `after`: the variable goes. */
static void check_clean(const char *before, const char *after)
{
	char preload[256] = "LD_PRELOAD=", expected[256] = "LD_PRELOAD=";
	char **environment = ENVIRONMENT(home, preload, shell);

	strcat(preload, before);
	environment_clean(environment, LIBRARY);
	if (!after) {
		check_equal(environment, EXPECTED(home, shell));
		return;
	}
	strcat(expected, after);
	check_equal(environment, EXPECTED(home, expected, shell));
}

static void our_library_alone_takes_the_variable_with_it(void **state)
{
	(void)state;
	check_clean("/usr/lib/libmidden.so", NULL);
	check_clean("libmidden.so", NULL);
	check_clean(" libmidden.so:", NULL);
	check_clean("/a/libmidden.so:/b/libmidden.so", NULL);
}

static void other_libraries_stay_in_their_order(void **state)
{
	(void)state;
	check_clean("/usr/lib/libmidden.so:/lib/a.so:/lib/b.so", "/lib/a.so:/lib/b.so");
	check_clean("/lib/a.so:/usr/lib/libmidden.so:/lib/b.so", "/lib/a.so:/lib/b.so");
	check_clean("/lib/a.so:/lib/b.so:/usr/lib/libmidden.so", "/lib/a.so:/lib/b.so");
}

static void entries_may_be_separated_by_spaces_and_colons(void **state)
{
	(void)state;
	check_clean("/lib/a.so /usr/lib/libmidden.so /lib/b.so", "/lib/a.so:/lib/b.so");
	check_clean(":/lib/a.so: libmidden.so::/lib/b.so ", "/lib/a.so:/lib/b.so");
}

static void libraries_with_similar_names_stay(void **state)
{
	(void)state;
	check_clean("/lib/notlibmidden.so:libmidden.so", "/lib/notlibmidden.so");
	check_clean("/lib/libmidden.so.1:libmidden.so", "/lib/libmidden.so.1");
	check_clean("/libmidden.so/a.so:libmidden.so", "/libmidden.so/a.so");
}

static void a_preload_without_our_library_is_not_touched(void **state)
{
	static char preload[] = "LD_PRELOAD=/lib/a.so  /lib/b.so";
	char **environment = ENVIRONMENT(preload);

	(void)state;
	environment_clean(environment, LIBRARY);
	assert_ptr_equal(environment[0], preload);
}

static void variables_that_only_begin_alike_stay(void **state)
{
	static char longer[] = "LD_PRELOAD_X=libmidden.so", bare[] = "LD_PRELOAD";
	static char other[] = ENV_SOCKET "_DIR=/x";
	char **environment = ENVIRONMENT(longer, bare, other);

	(void)state;
	environment_clean(environment, LIBRARY);
	check_equal(environment, EXPECTED(longer, bare, other));
}

static void the_recorders_socket_goes(void **state)
{
	char **first = ENVIRONMENT(socket_entry, home);
	char **last = ENVIRONMENT(home, socket_entry);
	char **only = ENVIRONMENT(socket_entry);

	(void)state;
	environment_clean(first, LIBRARY);
	environment_clean(last, LIBRARY);
	environment_clean(only, LIBRARY);
	check_equal(first, EXPECTED(home));
	check_equal(last, EXPECTED(home));
	assert_null(only[0]);
}

static void settings_of_the_user_stay(void **state)
{
	static char mode[] = ENV_MODE "=exact", output[] = ENV_OUTPUT "=x.mdn";
	char **environment = ENVIRONMENT(mode, socket_entry, output);

	(void)state;
	environment_clean(environment, LIBRARY);
	check_equal(environment, EXPECTED(mode, output));
}

static void an_environment_that_is_empty_or_missing_is_left_so(void **state)
{
	char **empty = (char *[]){NULL};

	(void)state;
	environment_clean(empty, LIBRARY);
	assert_null(empty[0]);
	environment_clean(NULL, LIBRARY);
}

/* ---- restore --------------------------------------------------------------------------------- */

/* Takes out what `record` puts in: from here on there is something to put back. */
static void clean_recorded(void)
{
	static char preload[] = "LD_PRELOAD=/lib/a.so:/opt/lib/libmidden.so";
	char **environment = ENVIRONMENT(preload, socket_entry);

	environment_clean(environment, LIBRARY);
	check_equal(environment, EXPECTED("LD_PRELOAD=/lib/a.so"));
}

static void check_restored(char *const *environment, const char *const *expected)
{
	char *const *copy = environment_restore(environment);

	assert_ptr_not_equal(copy, environment);
	check_equal(copy, expected);
	environment_drop(copy);
}

static void an_exec_gets_our_library_and_the_socket_back(void **state)
{
	char **environment = ENVIRONMENT(home, shell);

	(void)state;
	clean_recorded();
	check_restored(environment,
		       EXPECTED(home, shell, "LD_PRELOAD=/opt/lib/libmidden.so", SOCKET));
	check_equal(environment, EXPECTED(home, shell));
}

static void an_exec_keeps_the_preloads_that_the_program_asks_for(void **state)
{
	static char preload[] = "LD_PRELOAD=/lib/c.so /lib/d.so";

	(void)state;
	clean_recorded();
	check_restored(
		ENVIRONMENT(preload, home),
		EXPECTED(home, "LD_PRELOAD=/opt/lib/libmidden.so:/lib/c.so /lib/d.so", SOCKET));
}

static void an_exec_with_an_empty_environment_is_recorded_too(void **state)
{
	(void)state;
	clean_recorded();
	check_restored((char *[]){NULL}, EXPECTED("LD_PRELOAD=/opt/lib/libmidden.so", SOCKET));
}

static void what_is_put_back_can_be_taken_out_again(void **state)
{
	static char preload[] = "LD_PRELOAD=/lib/c.so";
	char **environment = ENVIRONMENT(preload, home);
	char *copy[8] = {0};

	(void)state;
	clean_recorded();
	char *const *restored = environment_restore(environment);
	for (size_t i = 0; restored[i]; i++)
		copy[i] = restored[i];
	environment_clean(copy, LIBRARY);
	check_equal(copy, EXPECTED(home, "LD_PRELOAD=/lib/c.so"));
}

/* ---- images ---------------------------------------------------------------------------------- */

static void the_number_of_an_image_is_for_its_own_process(void **state)
{
	char text[64];

	(void)state;
	unsetenv(ENV_IMAGE);
	assert_int_equal(environment_find_image(), 1);
	(void)snprintf(text, sizeof(text), "%d.7", (int)getpid());
	setenv(ENV_IMAGE, text, 1);
	assert_int_equal(environment_find_image(), 7);
	(void)snprintf(text, sizeof(text), "%d.7", (int)getpid() + 1);
	setenv(ENV_IMAGE, text, 1);
	assert_int_equal(environment_find_image(), 1);
	setenv(ENV_IMAGE, "nonsense", 1);
	assert_int_equal(environment_find_image(), 1);
	unsetenv(ENV_IMAGE);
}

/* Before any test has taken a socket out: without a recorder somebody has to count. */
static void without_a_recorder_an_exec_gets_the_number_of_the_next_image(void **state)
{
	static char preload[] = "LD_PRELOAD=/opt/lib/libmidden.so", stale[] = ENV_IMAGE "=1.2";
	char **environment = ENVIRONMENT(stale, home, preload);
	char text[64], next[64];

	(void)state;
	(void)snprintf(text, sizeof(text), "%d.7", (int)getpid());
	(void)snprintf(next, sizeof(next), ENV_IMAGE "=%d.8", (int)getpid());
	setenv(ENV_IMAGE, text, 1);
	assert_int_equal(environment_find_image(), 7);
	unsetenv(ENV_IMAGE);
	char *const *copy = environment_restore(environment);
	check_equal(copy, EXPECTED(home, preload, next));
	environment_drop(copy);
	environment_clean(environment, LIBRARY);
	check_equal(environment, EXPECTED(home));
}

/* ---- find, for_collector --------------------------------------------------------------------- */

static void variables_are_found_by_their_whole_name(void **state)
{
	(void)state;
	assert_int_equal(setenv("MIDDEN_TEST_A", "one=two", 1), 0);
	assert_int_equal(setenv("MIDDEN_TEST_EMPTY", "", 1), 0);
	assert_string_equal(environment_find("MIDDEN_TEST_A"), "one=two");
	assert_string_equal(environment_find("MIDDEN_TEST_EMPTY"), "");
	assert_null(environment_find("MIDDEN_TEST_"));
	assert_null(environment_find("MIDDEN_TEST_AB"));
}

static void before_libc_has_an_environment_the_loaders_is_used(void **state)
{
	static char yes[] = "GIVEN=yes";
	char **given = ENVIRONMENT(yes, home);
	char **saved = environ;

	(void)state;
	environ = NULL;
	environment_init(given);
	const char *found = environment_find("GIVEN");
	const char *missing = environment_find("PATH");
	environment_init(NULL);
	environ = saved;
	assert_string_equal(found, "yes");
	assert_null(missing);
}

static void with_neither_the_kernels_copy_is_read(void **state)
{
	const char *path = getenv("PATH");
	char **saved = environ;

	(void)state;
	assert_non_null(path);
	environ = NULL;
	const char *found = environment_find("PATH");
	const char *missing = environment_find("MIDDEN_TEST_A"); /* set later, by setenv */
	environ = saved;
	assert_string_equal(found, path);
	assert_null(missing);
}

static void a_collector_we_start_is_neither_preloaded_nor_recorded(void **state)
{
	static char ours[] = "LD_PRELOAD=libmidden.so", theirs[] = "LD_PRELOAD=x.so";
	static char other[] = "LD_PRELOADED=no", mode[] = ENV_MODE "=exact";
	char *array[8];
	char **saved = environ;

	(void)state;
	environ = ENVIRONMENT(home, ours, shell, mode, theirs, other);
	environment_for_collector(array, 8);
	environ = saved;
	check_equal(array, EXPECTED(ENV_MODE "=off", home, shell, "LD_PRELOADED=no"));
}

static void the_collector_learns_the_mode_of_its_target(void **state)
{
	static char tags[] = ENV_MODE "=tags", other[] = ENV_MODE "=tag";
	char *array[4] = {NULL};
	char **saved = environ;

	(void)state;
	environ = ENVIRONMENT(tags, home);
	environment_for_collector(array, 4);
	check_equal(array, EXPECTED(ENV_MODE "=off", ENV_TARGET_MODE "=tags", home));
	environ = ENVIRONMENT(other, home);
	environment_for_collector(array, 4);
	environ = saved;
	check_equal(array, EXPECTED(ENV_MODE "=off", home));
}

static void an_environment_that_does_not_fit_is_cut_behind_our_settings(void **state)
{
	static char a[] = "A=1", b[] = "B=2", output[] = ENV_OUTPUT "=x", sentinel[] = "sentinel";
	char *array[5] = {NULL, NULL, NULL, NULL, sentinel};
	char **saved = environ;

	(void)state;
	environ = ENVIRONMENT(a, b, output);
	environment_for_collector(array, 4);
	environ = saved;
	check_equal(array, EXPECTED(ENV_MODE "=off", ENV_OUTPUT "=x", "A=1"));
	assert_ptr_equal(array[4], sentinel);
}

static void the_kernels_copy_is_given_without_preload_too(void **state)
{
	enum { ROOM = 4096 };
	static char *array[ROOM];
	char **saved = environ;
	size_t count = 0;

	(void)state;
	environ = NULL;
	environment_for_collector(array, ROOM);
	environ = saved;
	for (; array[count]; count++)
		assert_int_not_equal(strncmp(array[count], "LD_PRELOAD=", 11), 0);
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: later tests take something out, for good */
		cmocka_unit_test(when_nothing_was_taken_out_nothing_is_put_back),
		cmocka_unit_test(without_a_recorder_an_exec_gets_the_number_of_the_next_image),
		cmocka_unit_test(our_library_alone_takes_the_variable_with_it),
		cmocka_unit_test(other_libraries_stay_in_their_order),
		cmocka_unit_test(entries_may_be_separated_by_spaces_and_colons),
		cmocka_unit_test(libraries_with_similar_names_stay),
		cmocka_unit_test(a_preload_without_our_library_is_not_touched),
		cmocka_unit_test(variables_that_only_begin_alike_stay),
		cmocka_unit_test(the_recorders_socket_goes),
		cmocka_unit_test(settings_of_the_user_stay),
		cmocka_unit_test(an_environment_that_is_empty_or_missing_is_left_so),
		cmocka_unit_test(an_exec_gets_our_library_and_the_socket_back),
		cmocka_unit_test(an_exec_keeps_the_preloads_that_the_program_asks_for),
		cmocka_unit_test(an_exec_with_an_empty_environment_is_recorded_too),
		cmocka_unit_test(what_is_put_back_can_be_taken_out_again),
		cmocka_unit_test(the_number_of_an_image_is_for_its_own_process),
		cmocka_unit_test(variables_are_found_by_their_whole_name),
		cmocka_unit_test(before_libc_has_an_environment_the_loaders_is_used),
		cmocka_unit_test(with_neither_the_kernels_copy_is_read),
		cmocka_unit_test(a_collector_we_start_is_neither_preloaded_nor_recorded),
		cmocka_unit_test(the_collector_learns_the_mode_of_its_target),
		cmocka_unit_test(an_environment_that_does_not_fit_is_cut_behind_our_settings),
		cmocka_unit_test(the_kernels_copy_is_given_without_preload_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
