/* halt_test.c -- threads of another process are stopped; if it dies meanwhile, nobody is held up.
 * Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/halt.h"

static int ready[2];

static void *wait_for_nothing(void *unused)
{
	(void)!write(ready[1], "r", 1);
	for (;;)
		pause();
	return unused;
}

/* A process of two threads, whose main thread cannot be stopped: it waits for a vfork child. The
 * kernel is asked for it, since under a sanitizer vfork() is fork(), which waits for nobody. */
static pid_t start_target(void)
{
	pthread_t other;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&other, NULL, wait_for_nothing, NULL);
		if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)!write(ready[1], "r", 1);
			for (;;)
				pause();
		}
		_exit(0);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Whether a thread other than the main one is stopped by a tracer. */
static bool is_other_stopped(pid_t pid)
{
	char path[600], text[256];
	const struct dirent *entry;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid,
			       entry->d_name);
		FILE *file = fopen(path, "re");
		found = file && strtol(entry->d_name, NULL, 10) != pid &&
			fgets(text, sizeof(text), file) && strstr(text, ") t ");
		if (file)
			(void)fclose(file);
	}
	if (tasks)
		(void)closedir(tasks);
	return found;
}

/* A process that kills the target as soon as one of its threads is stopped. */
static pid_t start_killer(pid_t target)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!is_other_stopped(target))
			(void)usleep(1000);
		(void)kill(target, SIGKILL);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void test_a_process_that_dies_while_it_is_stopped_is_let_go(void **state)
{
	pid_t target = start_target();
	pid_t killer = start_killer(target);
	struct halt h = {0};
	struct error e = {0};

	(void)state;
	if (halt_start(&h, target, &e) == 0)
		halt_end(&h);
	assert_string_not_equal(e.text, "a thread does not stop");
	/* Its parent, who is the tracer here, hears of it once all have been waited for. */
	for (int i = 0; i < 60000 && (!halt_settle(&h) || h.threads.count); i++)
		(void)usleep(1000);
	assert_int_equal(h.threads.count, 0);
	assert_int_not_equal(kill(target, 0), 0);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	halt_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_that_dies_while_it_is_stopped_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
