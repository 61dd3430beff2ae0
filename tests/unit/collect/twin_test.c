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
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/regions.h"
#include "collect/twin.h"

#define LOOKS	      50
#define PATIENCE_MS   60000u
#define NAP_NS	      100000000L
#define PATTERN_BYTES 65536u

/* What target and test have in common. */
struct common {
	_Atomic uint32_t ready;
	_Atomic uint32_t slept;
	_Atomic uint32_t word; /* to be changed when the target is to end */
	_Atomic uint32_t handled;
	_Atomic uint32_t interrupted;
	_Atomic uint32_t children;
	_Atomic int32_t grandchild;
};

static struct common *common;
static int pipe_ends[2];
static uint64_t *pattern;

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

static bool read_once(void)
{
	char byte;

	return read(pipe_ends[0], &byte, 1) == 1;
}

static bool poll_with_timeout(void)
{
	struct pollfd fd = {.fd = pipe_ends[0], .events = POLLIN};

	return poll(&fd, 1, (int)PATIENCE_MS) == 1;
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

/* Both hold as many values as there are registers, and must agree. */
static bool calculate(void)
{
	uint64_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	while (!atomic_load_explicit(&common->word, memory_order_relaxed)) {
		for (unsigned i = 0; i < 8; i++) {
			a[i] = a[i] * UINT64_C(6364136223846793005) + a[(i + 1) % 8];
			x[i] = x[i] * 0.5 + x[(i + 1) % 8] * 0.25;
		}
		for (unsigned i = 0; i < 8; i++) {
			b[i] = b[i] * UINT64_C(6364136223846793005) + b[(i + 1) % 8];
			y[i] = y[i] * 0.5 + y[(i + 1) % 8] * 0.25;
		}
		if (memcmp(a, b, sizeof(a)) != 0 || memcmp(x, y, sizeof(x)) != 0)
			return false;
	}
	return true;
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

/* ---- starting and ending them ---------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	pattern = mmap(NULL, PATTERN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	return common == MAP_FAILED || pattern == MAP_FAILED || pipe(pipe_ends) ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(common, sizeof(*common));
	munmap(pattern, PATTERN_BYTES);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
	return 0;
}

static char get_state(pid_t pid)
{
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	const char *end = strrchr(text, ')');
	return end && end[1] ? end[2] : '\0';
}

static void wait_until_asleep(pid_t pid)
{
	for (unsigned i = 0; i < PATIENCE_MS && get_state(pid) != 'S'; i++)
		(void)usleep(1000);
	assert_int_equal(get_state(pid), 'S');
}

static pid_t start(bool (*work)(void), void (*prepare)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		for (unsigned i = 0; i < PATTERN_BYTES / 8; i++)
			pattern[i] = i * 3;
		sigset_t signals;
		sigemptyset(&signals);
		sigaddset(&signals, SIGUSR1);
		if (work == wait_for_signals)
			(void)sigprocmask(SIG_BLOCK, &signals, NULL);
		atomic_store(&common->ready, 1);
		_exit(work() ? 0 : 1);
	}
	assert_true(pid > 0);
	for (unsigned i = 0; i < PATIENCE_MS && !atomic_load(&common->ready); i++)
		(void)usleep(1000);
	return pid;
}

static void order_end(pid_t grandchild)
{
	atomic_store(&common->word, 1);
	(void)syscall(SYS_futex, &common->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	assert_int_equal(write(pipe_ends[1], "e", 1), 1);
	if (grandchild)
		(void)kill(grandchild, SIGTERM);
}

static void check_end(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- looking at them ------------------------------------------------------------------------- */

static bool has_pattern(pid_t pid)
{
	static uint64_t words[PATTERN_BYTES / 8];
	struct iovec local = {words, sizeof(words)}, remote = {pattern, sizeof(words)};

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(words))
		return false;
	for (unsigned i = 0; i < PATTERN_BYTES / 8; i++)
		if (words[i] != i * UINT64_C(3))
			return false;
	return true;
}

static void bury(struct twin *t, pid_t pid)
{
	for (unsigned i = 0; i < PATIENCE_MS && !twin_bury(t, pid); i++)
		(void)usleep(1000);
	assert_int_equal(t->dead, 0);
}

/* One copy, from its making to when nothing is left of it. `number` is a signal that comes while
 * the target is stopped, or 0. False: there can be no copy. */
static bool look(pid_t pid, int number)
{
	struct twin t = {0};
	struct halt h = {0};
	struct regions regions = {0};
	struct error e = {0};

	assert_int_equal(regions_read(&regions, pid, &e), 0);
	assert_int_equal(halt_start(&h, pid, &e), 0);
	if (number)
		(void)kill(pid, number);
	bool made = twin_make(&t, &h, &regions, pid);
	halt_end(&h);
	if (made) {
		pid_t copy = t.pid;

		twin_settle(&t);
		assert_true(twin_is_alive(&t));
		assert_true(has_pattern(copy));
		twin_end(&t);
		bury(&t, pid);
		/* Nobody knows when init gets to what an ended target leaves to it. */
		for (unsigned i = 0; i < PATIENCE_MS && get_state(copy) && get_state(pid) != 'Z';
		     i++)
			(void)usleep(1000);
		assert_true(get_state(copy) == 0 || get_state(pid) == 'Z');
	}
	assert_true(halt_settle(&h));
	halt_fini(&h);
	twin_fini(&t);
	regions_fini(&regions);
	return made;
}

static void check_unnoticed(bool (*work)(void))
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

/* However the stop, the copy and the signal follow each other. */
static void check_signals(bool (*work)(void))
{
	pid_t pid = start(work, NULL);

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
	struct twin t = {0};
	struct halt h = {0};
	struct regions regions = {0};
	struct error e = {0};
	int status;

	(void)state;
	pid_t pid = start(read_once, NULL);
	(void)close(pipe_ends[1]);
	pipe_ends[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(regions_read(&regions, pid, &e), 0);
	assert_int_equal(halt_start(&h, pid, &e), 0);
	assert_true(twin_make(&t, &h, &regions, pid));
	halt_end(&h);
	twin_settle(&t);
	assert_int_equal(poll(&fd, 1, 0), 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(poll(&fd, 1, (int)PATIENCE_MS), 1);
	assert_int_equal(fd.revents, POLLHUP);
	assert_true(twin_is_alive(&t));
	twin_end(&t);
	bury(&t, pid);
	(void)halt_settle(&h);
	halt_fini(&h);
	twin_fini(&t);
	regions_fini(&regions);
}

static void allow_no_processes(void)
{
	struct rlimit none = {0};

	(void)!setuid(65534); /* root is above limits */
	(void)setrlimit(RLIMIT_NPROC, &none);
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static void filter_calls(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, all};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* A sanitizer has a thread of its own. */
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void check_refused(void (*prepare)(void))
{
	pid_t pid = start(read_once, prepare);

	wait_until_asleep(pid);
	assert_false(look(pid, 0));
	assert_false(look(pid, 0));
	order_end(0);
	check_end(pid);
}

static void test_where_no_process_may_be_made_there_is_no_copy(void **state)
{
	(void)state;
	check_refused(allow_no_processes);
}

static void test_where_system_calls_are_filtered_none_is_made(void **state)
{
	(void)state;
	check_refused(filter_calls);
}

/* Adds a map with this name to those of a target, and has it copied. */
static bool look_beside(const char *name)
{
	pid_t pid = start(read_once, NULL);
	struct twin t = {0};
	struct halt h = {0};
	struct regions regions = {0};
	struct error e = {0};

	wait_until_asleep(pid);
	assert_int_equal(regions_read(&regions, pid, &e), 0);
	*vec_push(&regions.list) = (struct region){.name = (uint32_t)regions.names.count};
	for (size_t i = 0; i <= strlen(name); i++)
		*vec_push(&regions.names) = name[i];
	assert_int_equal(halt_start(&h, pid, &e), 0);
	bool made = twin_make(&t, &h, &regions, pid);
	halt_end(&h);
	twin_end(&t);
	bury(&t, pid);
	order_end(0);
	check_end(pid);
	halt_fini(&h);
	twin_fini(&t);
	regions_fini(&regions);
	atomic_store(&common->ready, 0);
	return made;
}

static void test_what_is_written_to_from_elsewhere_is_not_copied(void **state)
{
	static const char *const names[] = {"socket:[4711]", "anon_inode:[vfio-device]",
					    "anon_inode:[io_uring]", "/[aio] (deleted)",
					    "/dev/dri/card0"};

	(void)state;
	assert_true(look_beside("/usr/lib/socket:[4711].so"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(look_beside(names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_blocking_read_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_poll_with_a_timeout_goes_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_on_a_futex_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_loop_keeps_its_registers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_for_any_child_sees_its_own_only, set_up,
						tear_down),
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
		cmocka_unit_test_setup_teardown(test_where_system_calls_are_filtered_none_is_made,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_is_written_to_from_elsewhere_is_not_copied, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
