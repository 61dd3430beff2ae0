/* find_profile_test.c -- the newest profile of a directory. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

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
	char *found = find_profile_newest(x->path);

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
	char *found = find_profile_newest(x.path);
	assert_null(found);
	assert_int_equal(unlinkat(x.directory, "midden.a.1.mdn", AT_REMOVEDIR), 0);
	assert_newest(&x, NULL, names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_written_last_is_taken),
		cmocka_unit_test(given_equal_times_then_the_last_name_is_taken),
		cmocka_unit_test(other_files_are_passed_over),
		cmocka_unit_test(a_directory_of_that_name_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
