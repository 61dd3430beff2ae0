/* pathmap_test.c -- where sources are now. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/pathmap.h"

static struct pathmap map;

static void add(const char *rule)
{
	struct error e = {0};

	if (pathmap_add(&map, rule, &e) != 0)
		fail_msg("%s", e.text);
}

static void expect(const char *path, const char *wanted)
{
	char *found = pathmap_apply(&map, path);

	if (wanted) {
		assert_non_null(found);
		assert_string_equal(found, wanted);
	} else {
		assert_null(found);
	}
	free(found);
}

static int clear(void **state)
{
	(void)state;
	pathmap_free(&map);
	return 0;
}

static void a_path_below_the_old_directory_goes_to_the_new_one(void **state)
{
	(void)state;
	add("/build/app=/home/me/app");
	expect("/build/app/src/main.c", "/home/me/app/src/main.c");
	expect("/build/app", "/home/me/app");
	expect("/usr/include/stdio.h", NULL);
	expect("", NULL);
}

static void names_are_compared_as_a_whole(void **state)
{
	(void)state;
	add("/build/app=/x");
	expect("/build/application/main.c", NULL);
	expect("/other/build/app/main.c", NULL);
}

static void slashes_at_the_end_make_no_difference(void **state)
{
	(void)state;
	add("/build//=/src/");
	expect("/build/a.c", "/src/a.c");
}

static void the_first_rule_that_applies_holds(void **state)
{
	(void)state;
	add("/build/app=/first");
	add("/build=/second");
	add("/build/app=/third");
	expect("/build/app/a.c", "/first/a.c");
	expect("/build/b.c", "/second/b.c");
}

static void relative_paths_and_the_root_can_be_mapped_too(void **state)
{
	(void)state;
	add(".=/usr/src/libc");
	add("/=/sysroot");
	expect("./nptl/create.c", "/usr/src/libc/nptl/create.c");
	expect("../sysdeps/clone.S", NULL);
	expect("/usr/a.c", "/sysroot/usr/a.c");
	expect("a.c", NULL);
}

static void an_empty_new_directory_makes_paths_relative(void **state)
{
	(void)state;
	add("/build/app=");
	expect("/build/app/src/a.c", "src/a.c");
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const odd[] = {"", "/build", "=/new"};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct error e = {0};

		assert_int_equal(pathmap_add(&map, odd[i], &e), -1);
		assert_non_null(strstr(e.text, "is not OLD=NEW"));
	}
}

static void expect_shown(const char *path, const char *wanted)
{
	char *found = pathmap_show(&map, path);

	assert_string_equal(found ? found : path, wanted);
	free(found);
}

static void a_path_is_shown_without_the_way_back(void **state)
{
	(void)state;
	expect_shown("/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/new",
		     "/usr/include/c++/12/new");
	expect_shown("/a/./b//c.c", "/a/b/c.c");
	expect_shown("./a.c", "a.c");
	expect_shown("a/../b.c", "b.c");
	expect_shown("/../a.c", "/a.c");
	expect_shown("/a/..", "/");
	expect_shown("a/b/../../../c.c", "../c.c");
	expect_shown("../csu/libc-start.c", "../csu/libc-start.c");
	expect_shown("../../a/../b.c", "../../b.c");
	expect_shown("/a/..b/.c/d..c", "/a/..b/.c/d..c");
	expect_shown("a/..", "a/.."); /* nothing would be left */
	expect_shown("", "");
}

static void a_rule_is_for_the_path_as_it_was_and_as_it_is_shown(void **state)
{
	(void)state;
	add("/usr/include=/headers");
	add("/usr/bin/../share=/shared");
	expect_shown("/usr/bin/../include/x.h", "/headers/x.h");
	expect_shown("/usr/bin/../share/x.h", "/shared/x.h");
	expect("/usr/bin/../include/x.h", "/headers/x.h");
	expect("/opt/../home/x.h", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_path_below_the_old_directory_goes_to_the_new_one,
					  clear),
		cmocka_unit_test_teardown(names_are_compared_as_a_whole, clear),
		cmocka_unit_test_teardown(slashes_at_the_end_make_no_difference, clear),
		cmocka_unit_test_teardown(the_first_rule_that_applies_holds, clear),
		cmocka_unit_test_teardown(relative_paths_and_the_root_can_be_mapped_too, clear),
		cmocka_unit_test_teardown(an_empty_new_directory_makes_paths_relative, clear),
		cmocka_unit_test_teardown(what_is_no_rule_is_refused, clear),
		cmocka_unit_test_teardown(a_path_is_shown_without_the_way_back, clear),
		cmocka_unit_test_teardown(a_rule_is_for_the_path_as_it_was_and_as_it_is_shown,
					  clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
