/* twin_death_test.c -- a collector that is killed in the middle of making a copy harms nobody, and
 * a target that is killed leaves no copy.
 * Runs: as a test program, with a child as target and others as collectors.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>

#include "collect/filters.h"
#include "collect/registers.h"
#include "ptrace_call.h"
#include "twin_target.h"

/* Those that its main thread holds back. */
static uint64_t get_signals(pid_t pid)
{
	char path[64], line[256];
	uint64_t mask = UINT64_MAX;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "SigBlk:", 7) == 0)
			mask = strtoull(line + 7, NULL, 16);
	if (file)
		(void)fclose(file);
	return mask;
}

/* Whoever looks is not its parent. */
static void allow_others(void)
{
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

static unsigned calls_left; /* to ptrace, until somebody is killed; 0: nobody is */
static bool dies_before;
static pid_t doomed; /* who: 0 this process */

/* In place of the C library's. */
long ptrace(enum __ptrace_request request, ...) /* NOLINT: its name is not ours */
{
	va_list list;

	va_start(list, request);
	const struct ptrace_call call = ptrace_call_read(list);
	va_end(list);
	bool dies = calls_left && --calls_left == 0;
	if (dies && dies_before)
		(void)kill(doomed ? doomed : getpid(), SIGKILL);
	long result = ptrace_call_pass(request, &call);
	int why = errno;
	if (dies)
		(void)kill(doomed ? doomed : getpid(), SIGKILL);
	errno = why;
	return result;
}

/* A collector that looks and is killed at some point. False: it got to the end. */
static bool look_and_die(pid_t pid, unsigned calls, bool before)
{
	int status = 0;
	pid_t ended, collector = fork();

	if (collector == 0) {
		calls_left = calls;
		dies_before = before;
		(void)look(pid, 0);
		_exit(0);
	}
	assert_true(collector > 0);
	/* Copies that this process is to wait for may end before it. */
	do
		ended = waitpid(undertaker ? -1 : collector, &status, 0);
	while (ended > 0 && ended != collector && ended != pid);
	assert_int_equal(ended, collector);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Copies of a process that are not dead. */
static unsigned count_living(pid_t pid)
{
	char path[64];
	int child, parent = undertaker ? (int)undertaker : (int)pid;
	unsigned living = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		living += child != pid && get_state(child) != 'Z' && get_state(child) != 0;
	if (file)
		(void)fclose(file);
	return living;
}

/* Whether the thread is in this system call. */
static bool is_in_call(pid_t pid, long number)
{
	char path[64];
	long seen = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%ld", &seen) != 1)
		seen = -1; /* it is running */
	if (file)
		(void)fclose(file);
	return seen == number;
}

/* Which poll is made of depends on the architecture; a call that was begun anew has a number of its
 * own. */
static bool is_polling(pid_t pid)
{
#ifdef SYS_poll
	if (is_in_call(pid, SYS_poll))
		return true;
#endif
	return is_in_call(pid, SYS_ppoll) || is_in_call(pid, SYS_restart_syscall);
}

/* At its own work, not on the way there: nobody can do any of it but there. */
static bool is_home(pid_t pid, bool (*work)(void), uint32_t rounds)
{
	if (work == calculate)
		return atomic_load(&common->rounds) != rounds;
	return get_state(pid) == 'S' && (is_in_call(pid, SYS_read) || is_polling(pid));
}

/* Whether a thread waits for something, and not on the way home. */
static bool is_settled(pid_t pid, const char *tid)
{
	enum { WAY_BYTES = 4096 }; /* no less than it has */
	char path[320], text[256] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/syscall", (int)pid, tid);
	FILE *file = fopen(path, "re");
	bool known = file && fgets(text, sizeof(text), file);
	if (file)
		(void)fclose(file);
	const char *place = known ? strrchr(text, ' ') : NULL;
	return place && strtoull(place, NULL, 16) - way.fork >= WAY_BYTES;
}

/* A sanitizer has a thread of its own, which is asked to wait for copies. The room that threads get
 * home by is one for all: the next collector must not find one of them on the way. */
static bool are_others_settled(pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	bool settled = true;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && settled && (entry = readdir(tasks))) {
		long tid = strtol(entry->d_name, NULL, 10);

		settled = tid <= 0 || tid == pid || is_settled(pid, entry->d_name);
	}
	if (tasks)
		(void)closedir(tasks);
	return settled;
}

/* It may have to get there by itself, and the copy's end may take a moment. Two collectors at a
 * time are none of its worries. */
static void wait_until_home(pid_t pid, bool (*work)(void))
{
	uint32_t rounds = atomic_load(&common->rounds);

	for (unsigned i = 0; i < PATIENCE_MS && !is_home(pid, work, rounds); i++)
		(void)usleep(1000);
	assert_true(is_home(pid, work, rounds));
	bool settled = are_others_settled(pid);
	for (unsigned i = 0; i < PATIENCE_MS && !settled; i++) {
		(void)usleep(1000);
		settled = are_others_settled(pid);
	}
	assert_true(settled);
	for (unsigned i = 0; i < PATIENCE_MS && count_living(pid); i++)
		(void)usleep(1000);
	assert_int_equal(count_living(pid), 0);
	assert_int_equal(get_signals(pid), 0);
}

/* Whenever the collector is killed, the target goes on, and no copy of it does. Of a thread that is
 * in a call that holds only where the registers tell all about that. */
static void check_deaths_of(bool (*work)(void), void (*prepare)(void))
{
	pid_t pid = start(work, prepare);
	bool died = true;

	wait_until_home(pid, work);

	for (unsigned calls = 1; died; calls++) {
		assert_true(calls < 1000);
		for (int before = 0; before < 2; before++) {
			died = look_and_die(pid, calls, before);
			wait_until_home(pid, work);
		}
	}
	if (work != calculate)
		wait_until_asleep(pid);
	order_end(0);
	check_end(pid);
}

/* Copies are the target's children, and then its siblings. */
static void check_deaths(bool (*work)(void))
{
	if (work != calculate && !registers_hold_call())
		skip();
	check_deaths_of(work, allow_others);
	tear_down(NULL);
	set_up(NULL);
	undertaker = getpid();
	check_deaths_of(work, allow_others);
}

/* A thread on its way back is under its filter again. */
static void forbid_burials(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TWIN_CLOSE_RANGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	allow_others();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		_exit(3);
}

static void test_who_is_under_a_filter_outlives_collectors_that_are_killed(void **state)
{
	(void)state;
	if (!filters_can_suspend()) {
		print_message("the kernel does not let us put filters aside\n");
		skip();
	}
	undertaker = getpid();
	check_deaths_of(calculate, forbid_burials);
	if (!registers_hold_call())
		return;
	tear_down(NULL);
	set_up(NULL);
	undertaker = getpid();
	check_deaths_of(read_once, forbid_burials);
}

/* ---- a target that is killed ----------------------------------------------------------------- */

/* Whether this process traces one that lives. */
static bool has_tracees(void)
{
	const struct dirent *entry;
	char path[300], line[256];
	bool found = false;

	DIR *all = opendir("/proc");
	while (all && (entry = readdir(all))) {
		(void)snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		FILE *file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			if (strncmp(line, "State:\tZ", 8) == 0 ||
			    strncmp(line, "State:\tX", 8) == 0)
				break;
			if (strncmp(line, "TracerPid:", 10) == 0)
				found |= strtol(line + 10, NULL, 10) == getpid();
		}
		if (file)
			(void)fclose(file);
	}
	if (all)
		(void)closedir(all);
	return found;
}

/* A look at a target that is killed in the middle of it, from which nothing may stay. */
static bool look_at_doomed(pid_t pid)
{
	struct scene s = {.t = {.way = way, .undertaker = undertaker}};
	struct error e = {0};
	bool is_clean = false;

	if (regions_read(&s.regions, pid, &e) == 0 && halt_start(&s.h, pid, &e) == 0) {
		if (twin_make(&s.t, &s.h, &s.regions, pid))
			twin_settle(&s.t);
		halt_end(&s.h);
		twin_end(&s.t);
	}
	for (unsigned i = 0; i < PATIENCE_MS && !is_clean; i++) {
		(void)usleep(i ? 1000 : 0);
		is_clean = halt_settle(&s.h) && !has_tracees();
	}
	return is_clean;
}

/* False: the look came to its end before. */
static bool look_and_kill(pid_t pid, unsigned calls, bool before)
{
	int status = 0;
	pid_t collector = fork();

	if (collector == 0) {
		calls_left = calls;
		dies_before = before;
		doomed = pid;
		_exit(!look_at_doomed(pid) ? 1 : calls_left ? 2 : 0);
	}
	assert_true(collector > 0);
	assert_int_equal(waitpid(collector, &status, 0), collector);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	return WEXITSTATUS(status) == 0;
}

static void check_kills(void)
{
	bool died = true;

	for (unsigned calls = 1; died; calls++) {
		assert_true(calls < 1000);
		for (int before = 0; before < 2; before++) {
			int status = 0;

			atomic_store(&common->ready, 0);
			pid_t pid = start(poll_with_timeout, allow_others);
			wait_until_asleep(pid);
			died = look_and_kill(pid, calls, before);
			(void)kill(pid, SIGKILL);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			/* Copies that are for this process. */
			while (undertaker && waitpid(-1, NULL, WNOHANG) > 0)
				continue;
		}
	}
}

static void test_of_a_target_that_is_killed_no_copy_stays(void **state)
{
	(void)state;
	check_kills();
	undertaker = getpid();
	check_kills();
}

static void test_a_read_outlives_collectors_that_are_killed(void **state)
{
	(void)state;
	check_deaths(read_once);
}

static void test_a_wait_outlives_collectors_that_are_killed(void **state)
{
	(void)state;
	check_deaths(poll_with_timeout);
}

static void test_a_loop_outlives_collectors_that_are_killed(void **state)
{
	(void)state;
	check_deaths(calculate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_read_outlives_collectors_that_are_killed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_outlives_collectors_that_are_killed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_loop_outlives_collectors_that_are_killed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_who_is_under_a_filter_outlives_collectors_that_are_killed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_of_a_target_that_is_killed_no_copy_stays,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
