/* watch_test.c -- what a process and its threads look like from outside. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Wants the headers above. */
#include <cmocka.h>

#include "collect/watch.h"

struct stage {
	pthread_barrier_t told;
	pthread_barrier_t seen;
	pid_t tid;
};

static void meet(pthread_barrier_t *barrier)
{
	(void)pthread_barrier_wait(barrier);
}

static void *rename_late(void *argument)
{
	struct stage *s = argument;

	s->tid = gettid();
	meet(&s->told);
	meet(&s->seen);
	(void)prctl(PR_SET_NAME, "late name");
	meet(&s->told);
	meet(&s->seen);
	return NULL;
}

static void a_thread_that_is_renamed_is_seen_under_its_new_name(void **state)
{
	struct stage s;
	struct watch w;
	pthread_t thread;
	char name[16] = "none";

	(void)state;
	assert_int_equal(pthread_barrier_init(&s.told, NULL, 2), 0);
	assert_int_equal(pthread_barrier_init(&s.seen, NULL, 2), 0);
	(void)prctl(PR_SET_NAME, "first name");
	assert_int_equal(pthread_create(&thread, NULL, rename_late, &s), 0);
	watch_open(&w, getpid());
	meet(&s.told);
	assert_true(watch_read_name(&w, (uint32_t)s.tid, name, sizeof(name)));
	assert_string_equal(name, "first name");
	meet(&s.seen);
	meet(&s.told);
	assert_true(watch_read_name(&w, (uint32_t)s.tid, name, sizeof(name)));
	assert_string_equal(name, "late name");
	assert_true(watch_read_main_name(&w, name, sizeof(name)));
	assert_string_equal(name, "first name");
	meet(&s.seen);
	assert_int_equal(pthread_join(thread, NULL), 0);
	watch_close(&w);
}

static void a_thread_that_is_not_there_has_no_name(void **state)
{
	struct watch w;
	char name[16] = "kept";

	(void)state;
	watch_open(&w, getpid());
	assert_false(watch_read_name(&w, 1, name, sizeof(name)));
	assert_string_equal(name, "kept");
	watch_close(&w);
}

static void a_dead_process_has_its_name_until_it_is_waited_for(void **state)
{
	struct watch w;
	siginfo_t info;
	char name[16] = "none";
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		(void)prctl(PR_SET_NAME, "last (name)");
		_exit(0);
	}
	watch_open(&w, child);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(watch_is_gone(&w));
	assert_true(watch_read_main_name(&w, name, sizeof(name)));
	assert_string_equal(name, "last (name)");
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(watch_read_main_name(&w, name, sizeof(name)));
	assert_string_equal(name, "last (name)");
	watch_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_is_renamed_is_seen_under_its_new_name),
		cmocka_unit_test(a_thread_that_is_not_there_has_no_name),
		cmocka_unit_test(a_dead_process_has_its_name_until_it_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
