/* halt_leaving_test.c -- threads are let go in time, however many they are, and those that signals
 * arrive at before the others. Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "format/env.h"
#include "producer.h"
#include "ptrace_call.h"
#include "still_child.h"

#define THREADS	   16u
#define ASKING_US  5000u
#define LEAVING_US 10000u
#define ASKED_MOST 7u /* by when they have been asked for a third of 100 ms */
#define CALLS_MOST 64u

static bool is_slow;
static pid_t asked[CALLS_MOST], left[CALLS_MOST];
static unsigned asked_count, left_count;

/* In place of the C library's: notes who is asked and let go, and takes its time for both. */
long ptrace(enum __ptrace_request request, ...) /* NOLINT: its name is not ours */
{
	va_list list;

	va_start(list, request);
	const struct ptrace_call call = ptrace_call_read(list);
	va_end(list);
	if (request == PTRACE_SEIZE && asked_count < CALLS_MOST)
		asked[asked_count++] = call.pid;
	if (request == PTRACE_DETACH && left_count < CALLS_MOST)
		left[left_count++] = call.pid;
	if (is_slow && request == PTRACE_SEIZE)
		(void)usleep(ASKING_US);
	if (is_slow && request == PTRACE_DETACH)
		(void)usleep(LEAVING_US);
	return ptrace_call_pass(request, &call);
}

static void *wait_for_nothing(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static bool start_threads(const void *count)
{
	pthread_t thread;

	for (unsigned i = 0; i < *(const unsigned *)count; i++)
		if (pthread_create(&thread, NULL, wait_for_nothing, NULL) != 0)
			return false;
	return true;
}

static struct collector *new_collector(pid_t target)
{
	struct collector *c =
		producer_new_collector(ticks_is_own(EM_X86_64) ? EM_X86_64 : EM_AARCH64);

	assert_non_null(c);
	watch_close(&c->watch);
	watch_open(&c->watch, target);
	asked_count = left_count = 0;
	(void)setenv(ENV_TWIN, "now", 1);
	return c;
}

static void end(struct collector *c, pid_t target)
{
	is_slow = false;
	lost_finish(c);
	assert_int_equal(c->lost.halt.threads.count, 0);
	still_child_end(target);
	collect_free(c);
	(void)unsetenv(ENV_TWIN);
}

static void test_a_stop_ends_when_the_last_thread_goes_on(void **state)
{
	const unsigned others = THREADS - 1;
	pid_t target = still_child_start(start_threads, &others);
	struct collector *c = new_collector(target);
	struct error e = {0};

	(void)state;
	is_slow = true;
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), 0);
	assert_int_equal(asked_count, left_count);
	assert_true(left_count >= THREADS);
	assert_true(c->lost.pause_ns >= UINT64_C(1000) * left_count * (ASKING_US + LEAVING_US));
	end(c, target);
}

static void test_who_could_not_be_let_go_in_time_is_not_asked(void **state)
{
	const unsigned others = THREADS - 1;
	pid_t target = still_child_start(start_threads, &others);
	struct collector *c = new_collector(target);
	struct error e = {0};

	(void)state;
	is_slow = true;
	assert_int_equal(collect_find_lost(c, 0, &e), -1);
	assert_non_null(strstr(e.text, ", before all of its threads had stopped"));
	assert_in_range(asked_count, 1, ASKED_MOST);
	end(c, target);
}

/* ---- in which order -------------------------------------------------------------------------- */

static int names[2];

static void *be_parent(void *unused)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)wait_for_nothing(NULL);
	}
	(void)!write(names[1], &tid, sizeof(tid));
	return wait_for_nothing(unused);
}

/* Besides its main thread: one, one that has a child, and one. */
static bool start_family(const void *unused)
{
	const unsigned one = 1;
	pthread_t thread;

	(void)unused;
	return start_threads(&one) && pthread_create(&thread, NULL, be_parent, NULL) == 0 &&
	       start_threads(&one);
}

static unsigned find(const pid_t *list, unsigned count, pid_t tid)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i] == tid)
			return i;
	fail();
	return 0;
}

static bool can_see_children(void)
{
	return access("/proc/thread-self/children", F_OK) == 0;
}

/* A process one of whose threads, `parent`, has a child. */
static pid_t start_parents(pid_t *parent)
{
	if (!can_see_children())
		skip();
	assert_int_equal(pipe(names), 0);
	pid_t target = still_child_start(start_family, NULL);
	assert_int_equal(read(names[0], parent, sizeof(*parent)), sizeof(*parent));
	return target;
}

/* A signal that nobody wants would end waits of threads that are not traced yet, or any more. */
static void test_threads_that_signals_arrive_at_are_traced_last_and_let_go_first(void **state)
{
	struct error e = {0};
	pid_t parent;

	(void)state;
	pid_t target = start_parents(&parent);
	struct collector *c = new_collector(target);
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), 0);
	assert_int_equal(asked_count, left_count);
	assert_true(asked_count >= 4);
	assert_true(find(asked, asked_count, target) >= asked_count - 2);
	assert_true(find(asked, asked_count, parent) >= asked_count - 2);
	assert_true(find(left, left_count, target) < 2);
	assert_true(find(left, left_count, parent) < 2);
	assert_int_equal(c->lost.halt.threads.at[0].tid, target);
	end(c, target);
	(void)close(names[0]);
	(void)close(names[1]);
}

/* For the same reason. */
static void test_a_thread_that_signals_do_not_arrive_at_waits_for_a_copy(void **state)
{
	struct error e = {0};
	pid_t parent;

	(void)state;
	pid_t target = start_parents(&parent);
	struct collector *c = new_collector(target);
	(void)setenv(ENV_TWIN, "1", 1);
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), 0);
	assert_true(c->lost.flags & PROFILE_LOST_COPIED);
	lost_finish(c);
	assert_false(twin_is_unburied(&c->lost.twin));
	assert_true(asked_count > 4);
	assert_int_not_equal(asked[asked_count - 1], target);
	assert_int_not_equal(asked[asked_count - 1], parent);
	end(c, target);
	(void)close(names[0]);
	(void)close(names[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stop_ends_when_the_last_thread_goes_on),
		cmocka_unit_test(test_who_could_not_be_let_go_in_time_is_not_asked),
		cmocka_unit_test(
			test_threads_that_signals_arrive_at_are_traced_last_and_let_go_first),
		cmocka_unit_test(test_a_thread_that_signals_do_not_arrive_at_waits_for_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
