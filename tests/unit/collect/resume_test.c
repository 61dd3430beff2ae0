/* resume_test.c -- waits that a stop would end go on: without end, with a time limit, with signals.
 * Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "twin_target.h"

#define LOOKS	 20
#define LIMIT_MS 200
#define LATE_MS	 20000 /* a busy machine */

static struct resume resume;

/* ---- what targets do ------------------------------------------------------------------------- */

static int add_pipe(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(EPOLL_CLOEXEC);

	(void)epoll_ctl(set, EPOLL_CTL_ADD, pipe_ends[0], &event);
	return set;
}

static bool wait_in_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(add_pipe(), &event, 1, -1) == 1;
}

static bool wait_in_epoll_for_long(void)
{
	struct epoll_event event;

	return epoll_wait(add_pipe(), &event, 1, 3600 * 1000) == 1;
}

static bool wait_for_no_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return sigwaitinfo(&set, NULL) == SIGUSR2;
}

/* The set is made by the test, which changes it. */
static int semaphores = -1;

static bool wait_for_semaphore(void)
{
	struct sembuf take = {.sem_op = -1};

	return semop(semaphores, &take, 1) == 0;
}

static int ends[2];

static bool receive_with_limit(void)
{
	const struct timeval limit = {.tv_sec = 3600};
	char byte;

	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return recv(ends[0], &byte, 1, 0) == 1;
}

static bool read_with_limit(void)
{
	const struct timeval limit = {.tv_sec = 3600};
	char byte;

	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return read(ends[0], &byte, 1) == 1;
}

static bool receive_many_with_limit(void)
{
	const struct timeval limit = {.tv_sec = 3600};
	char byte;
	struct iovec to = {&byte, 1};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &to, .msg_iovlen = 1}};

	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return recvmmsg(ends[0], &message, 1, 0, NULL) == 1;
}

static int watched = -1;
static char watched_path[] = "/tmp/midden-resume-XXXXXX";

static bool read_changes(void)
{
	char events[4096];

	return read(watched, events, sizeof(events)) > 0;
}

static uint64_t read_clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* After a wait for something that does not happen. */
static bool is_over_in_time(uint64_t before, bool is_right)
{
	uint64_t took = read_clock_ms() - before;

	atomic_fetch_add(&common->slept, 1);
	/* Who stops it is its parent too, and must not take its status. */
	while (!atomic_load(&common->word))
		(void)usleep(1000);
	return is_right && took >= LIMIT_MS && took < LATE_MS;
}

static bool wait_in_epoll_in_vain(void)
{
	struct epoll_event event;
	uint64_t before = read_clock_ms();

	return is_over_in_time(before, epoll_wait(add_pipe(), &event, 1, LIMIT_MS) == 0);
}

static bool wait_for_signal_in_vain(void)
{
	const struct timespec limit = {.tv_nsec = LIMIT_MS * 1000000L};
	uint64_t before = read_clock_ms();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return is_over_in_time(before, sigtimedwait(&set, NULL, &limit) == -1 && errno == EAGAIN);
}

static bool receive_in_vain(void)
{
	const struct timeval limit = {.tv_usec = LIMIT_MS * 1000};
	uint64_t before = read_clock_ms();
	char byte;

	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return is_over_in_time(before, recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN);
}

/* A queue that is full, and that nobody empties. */
static bool connect_in_vain(void)
{
	const struct timeval limit = {.tv_usec = LIMIT_MS * 1000};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t bytes = sizeof(name);
	int listening = socket(AF_UNIX, SOCK_STREAM, 0), first = socket(AF_UNIX, SOCK_STREAM, 0),
	    second = socket(AF_UNIX, SOCK_STREAM, 0);

	/* One without a path: the kernel chooses it. */
	if (bind(listening, (struct sockaddr *)&name, sizeof(name.sun_family)) ||
	    listen(listening, 0) || getsockname(listening, (struct sockaddr *)&name, &bytes) ||
	    connect(first, (struct sockaddr *)&name, bytes))
		return false;
	(void)setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	uint64_t before = read_clock_ms();
	return is_over_in_time(before, connect(second, (struct sockaddr *)&name, bytes) == -1 &&
					       errno == EAGAIN);
}

static bool wait_in_epoll_on_order(void)
{
	while (!atomic_load(&common->rounds))
		(void)usleep(1000);
	return wait_in_epoll_in_vain();
}

/* Finds something at once when it goes on after a look, works without sleeping, and waits anew. */
static bool work_between_waits(void)
{
	struct epoll_event event;
	int empty = epoll_create1(EPOLL_CLOEXEC);
	bool found = epoll_wait(add_pipe(), &event, 1, LATE_MS) == 1;
	uint64_t before = read_clock_ms();
	while (read_clock_ms() - before < 2 * LIMIT_MS)
		continue;
	atomic_store(&common->rounds, 1);
	before = read_clock_ms();
	return is_over_in_time(before, found && epoll_wait(empty, &event, 1, LIMIT_MS) == 0);
}

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&common->handled, 1);
}

/* SIGUSR1 comes in the wait alone, and ends it. */
static bool wait_with_signals(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	struct epoll_event event;
	sigset_t set;

	(void)sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	int epoll = add_pipe();
	while (epoll_pwait(epoll, &event, 1, -1, &set) < 0) {
		if (errno != EINTR)
			return false;
		atomic_fetch_add(&common->interrupted, 1);
	}
	return true;
}

/* ---- looks ----------------------------------------------------------------------------------- */

static int set_up_all(void **state)
{
	memset(&resume, 0, sizeof(resume));
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (set_up(state) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return -1;
	undertaker = getpid();
	return 0;
}

static int tear_down_all(void **state)
{
	(void)close(ends[0]);
	(void)close(ends[1]);
	if (semaphores >= 0)
		(void)semctl(semaphores, 0, IPC_RMID);
	return tear_down(state);
}

static void look_once(pid_t pid, int number, bool with_copy)
{
	struct scene s = stop_target_with(pid, &resume);

	if (number)
		(void)kill(pid, number);
	if (with_copy)
		assert_true(copy_target(&s, pid));
	halt_end(&s.h);
	if (with_copy)
		bury_copy(&s, pid);
	leave_target(&s);
}

/* With copies and without: the thread that forks runs on our order meanwhile. */
static pid_t look_again_and_again(bool (*work)(void))
{
	pid_t pid = start(work, NULL);

	for (unsigned i = 0; i < LOOKS; i++) {
		wait_until_asleep(pid);
		look_once(pid, 0, i % 2);
	}
	wait_until_asleep(pid);
	return pid;
}

static void test_epoll_goes_on(void **state)
{
	(void)state;
	pid_t pid = look_again_and_again(wait_in_epoll);
	order_end(0);
	check_end(pid);
}

/* The target is stopped once more for each copy that it has to wait for. */
static void test_epoll_goes_on_where_copies_are_children(void **state)
{
	(void)state;
	undertaker = 0;
	pid_t pid = start(wait_in_epoll_for_long, NULL);
	for (unsigned i = 0; i < 2; i++) {
		wait_until_asleep(pid);
		look_once(pid, 0, true);
	}
	wait_until_asleep(pid);
	order_end(0);
	check_end(pid);
}

static void test_epoll_with_a_limit_goes_on(void **state)
{
	(void)state;
	pid_t pid = look_again_and_again(wait_in_epoll_for_long);
	order_end(0);
	check_end(pid);
}

static void test_a_wait_for_a_signal_goes_on(void **state)
{
	(void)state;
	pid_t pid = look_again_and_again(wait_for_no_signal);
	(void)kill(pid, SIGUSR2);
	check_end(pid);
}

static void test_a_wait_for_a_semaphore_goes_on(void **state)
{
	struct sembuf give = {.sem_op = 1};

	(void)state;
	if (semaphores < 0)
		skip();
	pid_t pid = look_again_and_again(wait_for_semaphore);
	assert_int_equal(semop(semaphores, &give, 1), 0);
	check_end(pid);
}

static void test_sockets_with_a_limit_go_on(void **state)
{
	bool (*const works[])(void) = {receive_with_limit, read_with_limit,
				       receive_many_with_limit};

	(void)state;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		atomic_store(&common->ready, 0);
		pid_t pid = look_again_and_again(works[i]);
		assert_int_equal(write(ends[1], "e", 1), 1);
		check_end(pid);
	}
}

static void test_a_wait_for_changes_of_files_goes_on(void **state)
{
	(void)state;
	int file = mkstemp(watched_path);
	watched = inotify_init1(IN_CLOEXEC);
	assert_true(file >= 0 && inotify_add_watch(watched, watched_path, IN_MODIFY) >= 0);
	pid_t pid = look_again_and_again(read_changes);
	assert_int_equal(write(file, "e", 1), 1);
	check_end(pid);
	(void)unlink(watched_path);
	(void)close(file);
	(void)close(watched);
}

/* Looks that follow each other more often than the limit lasts do not make it endless. */
static void check_ends_in_time(const pid_t *pids, unsigned count, unsigned looks)
{
	uint64_t before = read_clock_ms();

	for (unsigned i = 0;
	     atomic_load(&common->slept) < count && read_clock_ms() - before < LATE_MS; i++) {
		(void)usleep(LIMIT_MS * 1000 / 10);
		for (unsigned k = 0; k < count * looks && atomic_load(&common->slept) < count; k++)
			look_once(pids[k % count], 0, i % 2);
	}
	assert_int_equal(atomic_load(&common->slept), count);
	atomic_store(&common->word, 1);
	for (unsigned i = 0; i < count; i++)
		check_end(pids[i]);
}

static void check_end_in_time(bool (*work)(void))
{
	pid_t pid = start(work, NULL);

	check_ends_in_time(&pid, 1, 1);
}

static void stand_back(void)
{
	const struct sched_param none = {0};

	(void)sched_setscheduler(0, SCHED_BATCH, &none);
}

/* On one processor, where the target does not get to sleep again before the second stop. */
static void test_a_wait_ends_in_time_where_stops_follow_at_once(void **state)
{
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	pid_t pid = start(wait_in_epoll_in_vain, stand_back);
	check_ends_in_time(&pid, 1, 2);
	(void)sched_setaffinity(0, sizeof(before), &before);
}

/* As threads of a program that has very many. */
static void test_waits_of_threads_with_like_numbers_end_in_time(void **state)
{
	const unsigned like = 512;
	pid_t pids[2];

	(void)state;
	pids[0] = start(wait_in_epoll_on_order, NULL);
	for (unsigned i = 0; i < 20 * like; i++) {
		pids[1] = start(wait_in_epoll_on_order, NULL);
		if (((unsigned)pids[0] - (unsigned)pids[1]) % like == 0)
			break;
		(void)kill(pids[1], SIGKILL);
		(void)waitpid(pids[1], NULL, 0);
	}
	atomic_store(&common->rounds, 1);
	check_ends_in_time(pids, 2, 1);
}

/* Between the looks the thread has not slept but in the second one. */
static void test_a_wait_after_work_does_not_end_early(void **state)
{
	(void)state;
	pid_t pid = start(work_between_waits, NULL);
	wait_until_asleep(pid);
	struct scene s = stop_target_with(pid, &resume);
	assert_int_equal(write(pipe_ends[1], "e", 1), 1);
	halt_end(&s.h);
	leave_target(&s);
	while (!atomic_load(&common->rounds))
		(void)usleep(1000);
	wait_until_asleep(pid);
	look_once(pid, 0, false);
	atomic_store(&common->word, 1);
	check_end(pid);
}

static void test_connecting_ends_when_its_time_is_over(void **state)
{
	(void)state;
	check_end_in_time(connect_in_vain);
}

static void test_epoll_ends_when_its_time_is_over(void **state)
{
	(void)state;
	check_end_in_time(wait_in_epoll_in_vain);
}

static void test_a_wait_for_a_signal_ends_when_its_time_is_over(void **state)
{
	(void)state;
	check_end_in_time(wait_for_signal_in_vain);
}

static void test_receiving_ends_when_its_time_is_over(void **state)
{
	(void)state;
	check_end_in_time(receive_in_vain);
}

/* The signal comes while the target is stopped. */
static void test_a_signal_ends_epoll_once(void **state)
{
	(void)state;
	pid_t pid = start(wait_with_signals, NULL);
	for (unsigned i = 1; i <= LOOKS; i++) {
		wait_until_asleep(pid);
		look_once(pid, SIGUSR1, i % 2);
		for (unsigned k = 0; k < PATIENCE_MS && atomic_load(&common->interrupted) < i; k++)
			(void)usleep(1000);
		assert_int_equal(atomic_load(&common->handled), i);
		assert_int_equal(atomic_load(&common->interrupted), i);
	}
	order_end(0);
	check_end(pid);
}

/* The kernel tells tracers of such a signal, and wakes the thread for it, which nobody else would
 * notice. */
static void test_a_signal_that_nobody_handles_ends_nothing(void **state)
{
	(void)state;
	pid_t pid = start(wait_in_epoll, NULL);
	for (unsigned i = 0; i < LOOKS; i++) {
		wait_until_asleep(pid);
		look_once(pid, SIGWINCH, i % 2);
	}
	wait_until_asleep(pid);
	order_end(0);
	check_end(pid);
}

/* As without us. */
static void test_a_process_that_was_stopped_finds_its_wait_ended(void **state)
{
	(void)state;
	pid_t pid = start(wait_in_epoll, NULL);
	wait_until_asleep(pid);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	for (unsigned i = 0; i < PATIENCE_MS && get_state(pid) != 'T'; i++)
		(void)usleep(1000);
	look_once(pid, 0, false);
	assert_int_equal(kill(pid, SIGCONT), 0);
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_all, tear_down_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_epoll_goes_on),
		TEST(test_epoll_goes_on_where_copies_are_children),
		TEST(test_epoll_with_a_limit_goes_on),
		TEST(test_a_wait_for_a_signal_goes_on),
		TEST(test_a_wait_for_a_semaphore_goes_on),
		TEST(test_sockets_with_a_limit_go_on),
		TEST(test_a_wait_for_changes_of_files_goes_on),
		TEST(test_epoll_ends_when_its_time_is_over),
		TEST(test_a_wait_for_a_signal_ends_when_its_time_is_over),
		TEST(test_receiving_ends_when_its_time_is_over),
		TEST(test_connecting_ends_when_its_time_is_over),
		TEST(test_a_wait_ends_in_time_where_stops_follow_at_once),
		TEST(test_waits_of_threads_with_like_numbers_end_in_time),
		TEST(test_a_wait_after_work_does_not_end_early),
		TEST(test_a_signal_ends_epoll_once),
		TEST(test_a_signal_that_nobody_handles_ends_nothing),
		TEST(test_a_process_that_was_stopped_finds_its_wait_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
