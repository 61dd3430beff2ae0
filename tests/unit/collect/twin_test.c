/* twin_test.c -- copies of another process are made again and again, whatever that is doing, and it
 * does not notice; where there can be none, it is left alone. Runs: as a test program, with a
 * child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "collect/requests.h"
#include "twin_target.h"

#define LOOKS	 50
#define NAP_NS	 100000000L
#define NEW_TIME 0x80 /* CLONE_NEWTIME, of Linux 5.6 */

/* ---- what targets do ------------------------------------------------------------------------- */

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&common->handled, 1);
}

static void handle_child(int number)
{
	(void)number;
	atomic_fetch_add(&common->children, 1);
}

static void take_signal(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	(void)sigaction(number, &action, NULL);
}

static uint64_t read_clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool wait_for_word(void)
{
	return syscall(SYS_futex, &common->word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0;
}

/* If it began anew each time, it would not end before the looks do. */
static bool sleep_for_a_while(void)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t before = read_clock_ns();

	bool is_right = clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) == 0 &&
			read_clock_ns() - before >= NAP_NS;
	atomic_store(&common->slept, 1);
	/* Who stops it is its parent too, and must not take its status. */
	while (!atomic_load(&common->word))
		(void)wait_for_word();
	return is_right;
}

/* Waits for a child of its own, of which it hears once, and has no other. */
static bool wait_for_child(void)
{
	int status;

	take_signal(SIGCHLD, handle_child);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	atomic_store(&common->grandchild, child);
	while (waitpid(-1, &status, 0) < 0) {
		if (errno != EINTR || !atomic_load(&common->children))
			return false;
	}
	return waitpid(-1, &status, 0) < 0 && errno == ECHILD &&
	       atomic_load(&common->children) == 1;
}

/* Each signal is handled once, and ends the call once. */
static bool wait_for_signals(void)
{
	sigset_t none;

	take_signal(SIGUSR1, handle);
	sigemptyset(&none);
	while (!atomic_load(&common->word)) {
		if (sigsuspend(&none) == -1 && errno == EINTR)
			atomic_fetch_add(&common->interrupted, 1);
	}
	return true;
}

static bool read_with_signals(void)
{
	char byte;

	take_signal(SIGUSR1, handle);
	while (read(pipe_ends[0], &byte, 1) < 0) {
		if (errno != EINTR)
			return false;
		atomic_fetch_add(&common->interrupted, 1);
	}
	return true;
}

/* Says whether it has had anything of a child, of which it has none. */
static bool count_children(void)
{
	const struct rusage nothing = {0};
	struct rusage of_children = {0};

	take_signal(SIGCHLD, handle_child);
	(void)read_once();
	return getrusage(RUSAGE_CHILDREN, &of_children) == 0 &&
	       memcmp(&of_children, &nothing, sizeof(nothing)) == 0 &&
	       waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD &&
	       atomic_load(&common->children) == 0;
}

/* Becomes another program, which is this one too: see main(). */
static bool exec_self(void)
{
	char in[16];

	(void)snprintf(in, sizeof(in), "%d", pipe_ends[0]);
	(void)read_once();
	(void)execl("/proc/self/exe", "self", in, (char *)NULL);
	return false;
}

static volatile sig_atomic_t heard;

static void note_child(int number)
{
	(void)number;
	heard = 1;
}

static int wait_after_exec(const char *in)
{
	char byte;

	take_signal(SIGCHLD, note_child);
	while (read((int)strtol(in, NULL, 10), &byte, 1) < 0 && errno == EINTR)
		;
	return heard ? 9 : 0;
}

static bool fork_once(void)
{
	int status;

	(void)read_once();
	pid_t pid = fork();
	if (pid == 0)
		_exit(3);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3;
}

/* ---- looking at them ------------------------------------------------------------------------- */

static void check_unnoticed_on(bool (*work)(void))
{
	pid_t pid = start(work, NULL);

	if (work != calculate)
		wait_until_asleep(pid);
	for (unsigned i = 0; i < LOOKS; i++)
		assert_true(look(pid, 0));
	if (work != calculate)
		wait_until_asleep(pid); /* a futex that changes before is not waited for */
	order_end(atomic_load(&common->grandchild));
	check_end(pid);
}

/* With a way back, and without; and where the copies are children of the target's parent. */
static void check_unnoticed(bool (*work)(void))
{
	check_unnoticed_on(work);
	tear_down(NULL);
	set_up(NULL);
	way = (struct comeback){0};
	check_unnoticed_on(work);
	tear_down(NULL);
	set_up(NULL);
	undertaker = getpid();
	check_unnoticed_on(work);
	tear_down(NULL);
	set_up(NULL);
	undertaker = getpid();
	way = (struct comeback){0};
	check_unnoticed_on(work);
}

static void test_a_blocking_read_goes_on(void **state)
{
	(void)state;
	check_unnoticed(read_once);
}

static void test_a_poll_with_a_timeout_goes_on(void **state)
{
	(void)state;
	check_unnoticed(poll_with_timeout);
}

static void test_a_wait_on_a_futex_goes_on(void **state)
{
	(void)state;
	check_unnoticed(wait_for_word);
}

static void test_a_loop_keeps_its_registers(void **state)
{
	(void)state;
	check_unnoticed(calculate);
}

static void test_a_wait_for_any_child_sees_its_own_only(void **state)
{
	(void)state;
	check_unnoticed(wait_for_child);
}

static void test_copies_that_its_parent_waits_for_are_nothing_to_the_target(void **state)
{
	(void)state;
	undertaker = getpid();
	check_unnoticed_on(count_children);
}

static bool has_executed(pid_t pid)
{
	char path[64], text[16] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	FILE *file = fopen(path, "re");
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	return strcmp(text, "self") == 0;
}

/* The kernel forgets which signal a parent wants when that executes another program, and sends
 * SIGCHLD. */
static void test_a_program_that_executes_another_hears_of_no_copy(void **state)
{
	(void)state;
	undertaker = getpid();
	pid_t pid = start(exec_self, NULL);
	wait_until_asleep(pid);
	struct scene s = stop_target(pid);
	assert_true(copy_target(&s, pid));
	twin_settle(&s.t);
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	for (unsigned i = 0; i < PATIENCE_MS && !has_executed(pid); i++)
		(void)usleep(1000);
	wait_until_asleep(pid);
	assert_true(twin_is_alive(&s.t));
	bury_copy(&s, pid);
	order_end(0);
	check_end(pid);
	leave_target(&s);
}

/* Another parent would not know what to do with them. */
static void test_only_a_parent_that_waits_for_all_gets_copies(void **state)
{
	(void)state;
	undertaker = getppid();
	pid_t pid = start(read_once, NULL);
	wait_until_asleep(pid);
	struct scene s = stop_target(pid);
	assert_true(copy_target(&s, pid));
	assert_false(s.t.is_sibling);
	bury_copy(&s, pid);
	order_end(0);
	check_end(pid);
	leave_target(&s);
}

static void test_a_sleep_does_not_begin_anew(void **state)
{
	pid_t pid = start(sleep_for_a_while, NULL);

	(void)state;
	for (unsigned i = 0; i < PATIENCE_MS && !atomic_load(&common->slept); i++)
		(void)look(pid, 0);
	wait_until_asleep(pid);
	order_end(0);
	check_end(pid);
}

static void keep_signal_back(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* However the stop, the copy and the signal follow each other. */
static void check_signals(bool (*work)(void))
{
	pid_t pid = start(work, work == wait_for_signals ? keep_signal_back : NULL);

	for (unsigned i = 1; i <= LOOKS; i++) {
		wait_until_asleep(pid);
		assert_true(look(pid, SIGUSR1));
		for (unsigned k = 0; k < PATIENCE_MS && atomic_load(&common->interrupted) < i; k++)
			(void)usleep(1000);
		assert_int_equal(atomic_load(&common->handled), i);
		assert_int_equal(atomic_load(&common->interrupted), i);
	}
	order_end(0);
	(void)kill(pid, work == wait_for_signals ? SIGUSR1 : 0);
	check_end(pid);
}

static void test_a_signal_ends_a_sigsuspend_once(void **state)
{
	(void)state;
	check_signals(wait_for_signals);
}

static void test_a_signal_interrupts_a_read_once(void **state)
{
	(void)state;
	check_signals(read_with_signals);
}

/* ---- what a copy shares, and where there is none --------------------------------------------- */

/* The copy gives up all descriptors, so that a reader of a pipe hears of the target's end. */
static void test_a_pipe_ends_though_there_is_a_copy(void **state)
{
	struct pollfd fd = {.fd = pipe_ends[0], .events = POLLIN};
	int status;

	(void)state;
	pid_t pid = start(read_once, NULL);
	(void)close(pipe_ends[1]);
	pipe_ends[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct scene s = stop_target(pid);
	assert_true(copy_target(&s, pid));
	twin_settle(&s.t);
	assert_int_equal(poll(&fd, 1, 0), 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(poll(&fd, 1, (int)PATIENCE_MS), 1);
	assert_int_equal(fd.revents, POLLHUP);
	assert_true(twin_is_alive(&s.t));
	bury_copy(&s, pid);
	leave_target(&s);
}

static void allow_no_processes(void)
{
	struct rlimit none = {0};

	(void)!setuid(65534); /* root is above limits */
	(void)setrlimit(RLIMIT_NPROC, &none);
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static void check_refused(bool (*work)(void), void (*prepare)(void))
{
	pid_t pid = start(work, prepare);

	wait_until_asleep(pid);
	assert_false(look(pid, 0));
	assert_false(look(pid, 0));
	order_end(0);
	check_end(pid);
}

static void test_where_no_process_may_be_made_there_is_no_copy(void **state)
{
	(void)state;
	check_refused(read_once, allow_no_processes);
}

static void ask_for_other_pids(void)
{
	(void)unshare(CLONE_NEWPID);
}

static void ask_for_other_times(void)
{
	(void)unshare(NEW_TIME);
}

static bool may_unshare(int what)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(what) == 0 ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* A copy would be the first process of the namespace, and its end that of all to come. */
static void test_who_has_asked_for_a_namespace_is_not_copied(void **state)
{
	(void)state;
#if defined(__SANITIZE_THREAD__)
	skip(); /* it has a thread of its own, which has asked for nothing and can be copied */
#endif
	if (!may_unshare(CLONE_NEWPID) || !may_unshare(NEW_TIME))
		skip();
	check_refused(fork_once, ask_for_other_pids);
	tear_down(NULL);
	set_up(NULL);
	check_refused(fork_once, ask_for_other_times);
}

/* Adds a map with this name to those of a target, and has it copied. */
static bool look_beside(const char *name)
{
	pid_t pid = start(read_once, NULL);

	wait_until_asleep(pid);
	struct scene s = stop_target(pid);
	*vec_push(&s.regions.list) = (struct region){.name = (uint32_t)s.regions.names.count};
	for (size_t i = 0; i <= strlen(name); i++)
		*vec_push(&s.regions.names) = name[i];
	bool made = copy_target(&s, pid);
	bury_copy(&s, pid);
	order_end(0);
	check_end(pid);
	leave_target(&s);
	atomic_store(&common->ready, 0);
	return made;
}

static void test_what_is_written_to_from_elsewhere_is_not_copied(void **state)
{
	static const char *const harmless[] = {
		"/usr/lib/socket:[4711].so", "/dev/shm/a",	   "/dev/zero (deleted)",
		"/dev/hugepages/a",	     "/memfd:a (deleted)", "/anon_hugepage (deleted)"};
	static const char *const names[] = {"socket:[4711]", "anon_inode:[vfio-device]",
					    "/dev/dri/card0"};

	(void)state;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		assert_true(look_beside(harmless[i]));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(look_beside(names[i]));
}

static void test_who_has_requests_under_way_is_copied_where_they_survive_it(void **state)
{
	static const char *const names[] = {"anon_inode:[io_uring]", "/[aio] (deleted)"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(look_beside(names[i]), requests_survive_fork(getpid(), i == 0));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return wait_after_exec(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_blocking_read_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_poll_with_a_timeout_goes_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_on_a_futex_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_loop_keeps_its_registers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_for_any_child_sees_its_own_only, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_copies_that_its_parent_waits_for_are_nothing_to_the_target, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_only_a_parent_that_waits_for_all_gets_copies,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_program_that_executes_another_hears_of_no_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_has_asked_for_a_namespace_is_not_copied,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_sleep_does_not_begin_anew, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_signal_ends_a_sigsuspend_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_signal_interrupts_a_read_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_pipe_ends_though_there_is_a_copy, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_where_no_process_may_be_made_there_is_no_copy,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_is_written_to_from_elsewhere_is_not_copied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_who_has_requests_under_way_is_copied_where_they_survive_it, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
