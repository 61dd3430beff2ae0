/* special_test.c -- devices and pipes are written to in place, unless a stranger put them there.
 * Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/special.h"

#define STRANGER 12345u

static char directory[] = "/tmp/midden-special-XXXXXX";
static char *path;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	path = mem_format("%s/out", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	free(path);
	return rmdir(directory);
}

static void remove_path(void)
{
	assert_int_equal(unlink(path), 0);
}

static void files_and_what_is_not_there_are_not_special(void **state)
{
	(void)state;
	assert_false(special_is(path));
	assert_false(special_is(directory));
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_false(special_is(path));
	remove_path();
}

static void a_device_is_opened_also_by_a_link_of_ours(void **state)
{
	int fd;

	(void)state;
	assert_true(special_is("/dev/null"));
	assert_true((fd = special_open("/dev/null")) >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true((fd = special_open(path)) >= 0);
	assert_int_equal(close(fd), 0);
	remove_path();
}

static void a_pipe_of_ours_is_opened(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(special_is(path));
	assert_true((fd = special_open(path)) >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(reader), 0);
	remove_path();
}

static void a_pipe_or_link_of_a_stranger_is_not(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* nobody else can give files away */
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chown(path, STRANGER, STRANGER), 0);
	assert_int_equal(special_open(path), -1); /* and does not wait for a reader */
	assert_int_equal(errno, EPERM);
	remove_path();
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(lchown(path, STRANGER, STRANGER), 0);
	assert_int_equal(special_open(path), -1);
	assert_int_equal(errno, EPERM);
	remove_path();
}

static void a_pipe_that_was_handed_to_us_may_be_a_strangers(void **state)
{
	int ends[2], fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fchown(ends[1], STRANGER, STRANGER), 0);
	int kept = dup(0);
	assert_int_equal(dup2(ends[1], 0), 0);
	assert_true((fd = special_open("/dev/stdin")) >= 0);
	assert_int_equal(dup2(kept, 0), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(close(ends[i]), 0);
	assert_int_equal(close(fd) | close(kept), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_what_is_not_there_are_not_special),
		cmocka_unit_test(a_device_is_opened_also_by_a_link_of_ours),
		cmocka_unit_test(a_pipe_of_ours_is_opened),
		cmocka_unit_test(a_pipe_or_link_of_a_stranger_is_not),
		cmocka_unit_test(a_pipe_that_was_handed_to_us_may_be_a_strangers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
