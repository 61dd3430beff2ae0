/* find_profile_test.c -- the newest profile of a directory. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/find_profile.h"

struct fixture {
	char path[32];
	int directory;
};

static void set_up(struct fixture *x)
{
	*x = (struct fixture){.path = "/tmp/midden-test-XXXXXX"};
	assert_non_null(mkdtemp(x->path));
	x->directory = open(x->path, O_RDONLY | O_DIRECTORY);
	assert_true(x->directory >= 0);
}

static void make_file(const struct fixture *x, const char *name, time_t age)
{
	struct timespec times[2] = {{.tv_sec = 1000000 - age}, {.tv_sec = 1000000 - age}};
	int fd = openat(x->directory, name, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Compares, then removes the files named. */
static void assert_newest(struct fixture *x, const char *expected, const char *const *names)
{
	char *found = find_profile_newest(x->path, NULL);

	for (; *names; names++)
		assert_int_equal(unlinkat(x->directory, *names, 0), 0);
	close(x->directory);
	assert_int_equal(rmdir(x->path), 0);
	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
	free(found);
}

static void the_file_written_last_is_taken(void **state)
{
	static const char *const names[] = {"midden.a.1.mdn", "midden.b.2.mdn", "midden.c.3.mdn",
					    NULL};
	struct fixture x;

	(void)state;
	set_up(&x);
	make_file(&x, names[0], 30);
	make_file(&x, names[1], 10);
	make_file(&x, names[2], 20);
	assert_newest(&x, "midden.b.2.mdn", names);
}

static void given_equal_times_then_the_last_name_is_taken(void **state)
{
	static const char *const names[] = {"midden.a.1.mdn", "midden.a.2.mdn", NULL};
	struct fixture x;

	(void)state;
	set_up(&x);
	make_file(&x, names[1], 10);
	make_file(&x, names[0], 10);
	assert_newest(&x, "midden.a.2.mdn", names);
}

static void other_files_are_passed_over(void **state)
{
	static const char *const names[] = {"midden.a.1.mdn.tmp", "other.mdn", "midden.mdn", NULL};
	struct fixture x;

	(void)state;
	set_up(&x);
	for (unsigned i = 0; names[i]; i++)
		make_file(&x, names[i], 0);
	assert_newest(&x, NULL, names);
}

static void a_directory_of_that_name_is_passed_over(void **state)
{
	static const char *const names[] = {NULL};
	struct fixture x;

	(void)state;
	set_up(&x);
	assert_int_equal(mkdirat(x.directory, "midden.a.1.mdn", 0700), 0);
	char *found = find_profile_newest(x.path, NULL);
	assert_null(found);
	assert_int_equal(unlinkat(x.directory, "midden.a.1.mdn", AT_REMOVEDIR), 0);
	assert_newest(&x, NULL, names);
}

/* %p and %n are anything, %% is a %, what glob takes for itself is nothing special; a number may
 * stand before the end. */
static void what_has_the_name_that_the_user_chose_is_taken_if_it_is_newer(void **state)
{
	static const char *const names[] = {"midden.a.1.mdn", "[b].c.7%.mdn", "[b].c.7%.8.mdn",
					    "b.c.7%.mdn", NULL};
	static const char *const expected[] = {"[b].c.7%.mdn", "[b].c.7%.8.mdn"};
	struct fixture x;
	char *found[2];

	(void)state;
	set_up(&x);
	char *output = mem_format("%s/[b].%%n.%%p%%%%.mdn", x.path);
	make_file(&x, names[0], 30);
	make_file(&x, names[1], 20);
	make_file(&x, names[3], 5);
	found[0] = find_profile_newest(x.path, output);
	make_file(&x, names[2], 10);
	found[1] = find_profile_newest(x.path, output);
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(found[i] + strlen(x.path) + 1, expected[i]);
		free(found[i]);
	}
	free(output);
	assert_newest(&x, "midden.a.1.mdn", names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_written_last_is_taken),
		cmocka_unit_test(given_equal_times_then_the_last_name_is_taken),
		cmocka_unit_test(other_files_are_passed_over),
		cmocka_unit_test(a_directory_of_that_name_is_passed_over),
		cmocka_unit_test(what_has_the_name_that_the_user_chose_is_taken_if_it_is_newer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
