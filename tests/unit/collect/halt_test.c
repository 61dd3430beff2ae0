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
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
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

/* A process of two threads that do nothing. */
static pid_t start_idle_target(void)
{
	pthread_t other;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&other, NULL, wait_for_nothing, NULL);
		(void)wait_for_nothing(NULL);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
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

static size_t count_gone(const struct halt *h)
{
	size_t gone = 0;

	for (size_t i = 0; i < h->threads.count; i++)
		gone += h->threads.at[i].state == HALT_GONE;
	return gone;
}

/* Its parent, who is the tracer here too, hears of it though nobody has been let go. */
static void test_a_process_that_is_killed_in_a_long_stop_is_gone_at_once(void **state)
{
	pid_t target = start_idle_target();
	struct halt h = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(halt_start(&h, target, &e), 0);
	size_t count = h.threads.count;
	assert_true(count >= 2);
	halt_attend(&h);
	assert_int_equal(count_gone(&h), 0);
	assert_int_equal(kill(target, SIGKILL), 0);
	for (int i = 0; i < 60000 && count_gone(&h) < count; i++) {
		(void)usleep(1000);
		halt_attend(&h);
	}
	assert_int_equal(h.threads.count, count);
	assert_int_equal(count_gone(&h), count);
	assert_true(h.threads.at[0].word_count > 0);
	assert_int_not_equal(kill(target, 0), 0);
	halt_end(&h);
	assert_true(halt_settle(&h));
	halt_fini(&h);
}

static void test_a_process_that_is_gone_is_said_to_have_ended(void **state)
{
	struct halt h = {0};
	struct error e = {0};

	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(halt_start(&h, pid, &e), -1);
	assert_string_equal(e.text, "it has ended");
	halt_fini(&h);
}

static void test_who_is_not_stopped_in_time_goes_on(void **state)
{
	pid_t target = start_idle_target();
	struct halt h = {.most_ns = 1};
	struct error e = {0};

	(void)state;
	assert_int_equal(halt_start(&h, target, &e), -1);
	assert_string_equal(e.text, "its threads take too long to stop");
	assert_true(halt_settle(&h));
	assert_int_equal(h.threads.count, 0);
	e = (struct error){0};
	h.most_ns = UINT64_MAX;
	assert_int_equal(halt_start(&h, target, &e), 0);
	halt_end(&h);
	assert_true(halt_settle(&h));
	halt_fini(&h);
	assert_int_equal(kill(target, SIGKILL), 0);
	assert_int_equal(waitpid(target, NULL, 0), target);
}

/* Sends a signal when it has been waited for for long. */
static pid_t start_late_signal(pid_t target)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)usleep(200000);
		(void)kill(target, SIGUSR1);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void test_a_thread_is_not_dead_for_want_of_descriptors(void **state)
{
	pid_t target = start_idle_target();
	struct rlimit before, none = {0};
	struct halt h = {0};
	struct error e = {0};
	int status = 0;

	(void)state;
	assert_int_equal(halt_start(&h, target, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	pid_t sender = start_late_signal(target);
	/* The others are stopped, and do not take it. */
	assert_int_equal(ptrace(PTRACE_CONT, h.threads.at[0].tid, 0, 0), 0);
	bool alive = halt_await(&h.threads.at[0], &status);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(alive);
	assert_int_equal(WSTOPSIG(status), SIGUSR1);
	assert_int_equal(waitpid(sender, NULL, 0), sender);
	(void)kill(target, SIGKILL);
	halt_end(&h);
	for (int i = 0; i < 60000 && (!halt_settle(&h) || h.threads.count); i++)
		(void)usleep(1000);
	assert_int_equal(h.threads.count, 0);
	(void)waitpid(target, NULL, 0);
	halt_fini(&h);
}

/* ---- another program ------------------------------------------------------------------------- */

struct execs {
	_Atomic pid_t idle;  /* a thread that the exec has to end */
	_Atomic uint32_t go; /* the exec may begin */
};

static struct execs *execs;

static void *be_idle(void *unused)
{
	atomic_store(&execs->idle, (pid_t)syscall(SYS_gettid));
	for (;;)
		pause();
	return unused;
}

static void *become_another(void *unused)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!atomic_load(&execs->go))
		(void)usleep(1000);
	(void)execl("/proc/self/exe", "halt_test", "wait", NULL);
	return unused;
}

static pid_t start_execing_target(void)
{
	pthread_t idle, execing;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&idle, NULL, be_idle, NULL);
		(void)pthread_create(&execing, NULL, become_another, NULL);
		for (;;)
			pause();
	}
	while (!atomic_load(&execs->idle))
		(void)usleep(1000);
	return pid;
}

static bool is_zombie(pid_t pid, pid_t tid)
{
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	return strstr(text, ") Z ") != NULL;
}

/* One thread is stopped and then ended by an exec, which waits until its tracer has heard of it;
 * and the tracer asks for another thread, which the kernel puts off until the exec is over. */
static void halt_during_exec(void)
{
	pid_t target = start_execing_target();
	struct halt h = {0};
	struct error e = {0};

	if (!halt_one(&h, atomic_load(&execs->idle)))
		_exit(2);
	atomic_store(&execs->go, 1);
	while (!is_zombie(target, h.threads.at[0].tid))
		(void)usleep(1000);
	if (halt_start(&h, target, &e) == 0)
		halt_end(&h);
	(void)kill(target, SIGKILL);
	_exit(0);
}

static void test_an_exec_and_a_stop_do_not_wait_for_each_other(void **state)
{
	int status = -1;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	skip(); /* it delivers signals when it thinks fit, and the mend is in a handler */
#endif
	execs = mmap(NULL, sizeof(*execs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(execs, MAP_FAILED);
	pid_t tracer = fork();
	if (tracer == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		halt_during_exec();
	}
	pid_t ended = 0;
	for (int i = 0; i < 60000 && ended == 0; i++) {
		ended = waitpid(tracer, &status, WNOHANG);
		(void)usleep(1000);
	}
	(void)kill(tracer, SIGKILL); /* its target with it */
	assert_int_equal(ended, tracer);
	assert_int_equal(status, 0);
	munmap(execs, sizeof(*execs));
}

/* ---- registers ------------------------------------------------------------------------------- */

#define LEFT_OVER UINT64_C(0x123456789abcdef0)

/* A process that has a number in a vector register that calls do not keep, and waits, or works. */
static pid_t start_with_vector(bool waits)
{
	static const uint64_t number = LEFT_OVER;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "r", 1);
#if defined(__x86_64__)
		__asm__ volatile("movq %0, %%xmm9" : : "m"(number) : "xmm9");
#else
		__asm__ volatile("ldr d21, %0" : : "m"(number) : "v21");
#endif
		while (waits)
			pause();
		for (;;)
			__asm__ volatile("");
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	(void)usleep(100000);
	return pid;
}

static bool has_left_over(pid_t pid)
{
	struct halt h = {0};
	struct error e = {0};
	bool found = false;

	assert_int_equal(halt_start(&h, pid, &e), 0);
	for (uint32_t i = 0; i < h.threads.at[0].word_count; i++)
		found |= h.threads.at[0].words[i] == LEFT_OVER;
	halt_end(&h);
	(void)kill(pid, SIGKILL);
	for (int i = 0; i < 60000 && (!halt_settle(&h) || h.threads.count); i++)
		(void)usleep(1000);
	halt_fini(&h);
	(void)waitpid(pid, NULL, 0);
	return found;
}

static void test_of_vector_registers_in_a_call_only_those_count_that_are_kept(void **state)
{
	(void)state;
	assert_true(has_left_over(start_with_vector(false)));
	assert_false(has_left_over(start_with_vector(true)));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_that_dies_while_it_is_stopped_is_let_go),
		cmocka_unit_test(test_a_process_that_is_killed_in_a_long_stop_is_gone_at_once),
		cmocka_unit_test(test_a_process_that_is_gone_is_said_to_have_ended),
		cmocka_unit_test(test_who_is_not_stopped_in_time_goes_on),
		cmocka_unit_test(test_a_thread_is_not_dead_for_want_of_descriptors),
		cmocka_unit_test(test_an_exec_and_a_stop_do_not_wait_for_each_other),
		cmocka_unit_test(test_of_vector_registers_in_a_call_only_those_count_that_are_kept),
	};

	if (argc > 1 && strcmp(argv[1], "wait") == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}

	return cmocka_run_group_tests(tests, NULL, NULL);
}
