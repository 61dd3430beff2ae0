/* rescue_test.c -- files that are cut short while they are read. Runs: as a unit test of the base
 * room.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/rescue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

struct work {
	const volatile char *file;
	bool has_begun;
	bool has_ended;
};

static void read_file(void *context)
{
	struct work *w = context;

	w->has_begun = true;
	(void)w->file[0];
	w->has_ended = true;
}

static const volatile char *map_file(int *fd)
{
	*fd = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*fd, 4096), 0);
	const volatile char *file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, *fd, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	return file;
}

static void a_file_that_is_whole_is_read(void **state)
{
	int fd;
	struct work w = {.file = map_file(&fd)};

	(void)state;
	assert_true(rescue_run(read_file, &w));
	assert_true(w.has_ended);
	close(fd);
}

static void a_file_that_is_cut_short_is_let_go_of_as_often_as_it_takes(void **state)
{
	int fd;
	struct work w = {.file = map_file(&fd)};

	(void)state;
	assert_int_equal(ftruncate(fd, 0), 0);
	for (int i = 0; i < 3; i++) {
		w.has_begun = false;
		assert_false(rescue_run(read_file, &w));
		assert_true(w.has_begun);
		assert_false(w.has_ended);
	}
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_true(rescue_run(read_file, &w));
	close(fd);
}

static void outside_of_such_work_it_ends_the_process(void **state)
{
	int fd, status;
	struct work w = {.file = map_file(&fd)};

	(void)state;
	assert_true(rescue_run(read_file, &w));
	pid_t child = fork();
	if (child == 0) {
		(void)ftruncate(fd, 0);
		read_file(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_whole_is_read),
		cmocka_unit_test(a_file_that_is_cut_short_is_let_go_of_as_often_as_it_takes),
		cmocka_unit_test(outside_of_such_work_it_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
