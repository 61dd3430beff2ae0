/* lost_pace_test.c -- a target that would be stopped for too long is not stopped, and one that is
 * read too slowly is let go; whoever allows it is answered. Runs: as a test program, with a child
 * as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collect/lost_pace.h"
#include "format/env.h"
#include "producer.h"
#include "still_child.h"

#define LARGE_BYTES (UINT64_C(96) << 20)
#define SMALL_BYTES (UINT64_C(1) << 20)
#define LOOKS_MOST  200u
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define MAPS	    40000u		 /* whose list takes more than 10 ms */
#define ASKED_BYTES (UINT64_C(64) << 20) /* of more a sample is read before */

static struct collector *collector;
static pid_t target;

struct held {
	uint64_t bytes;
	bool is_apart; /* a fork leaves it out */
};

static bool hold(const void *context)
{
	const struct held *held = context;
	char *memory =
		mmap(NULL, held->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	memset(memory, 1, held->bytes);
	return !held->is_apart || madvise(memory, held->bytes, MADV_DONTFORK) == 0;
}

static void start_with(bool (*prepare)(const void *context), const void *context)
{
	target = still_child_start(prepare, context);
	collector = producer_new_collector(ticks_is_own(EM_X86_64) ? EM_X86_64 : EM_AARCH64);
	assert_non_null(collector);
	watch_close(&collector->watch);
	watch_open(&collector->watch, target);
	watch_sample_rss(&collector->watch);
}

/* A child that has so much memory and then does nothing; what a fork leaves out, or not. */
static void start_target(uint64_t bytes, bool is_apart)
{
	const struct held held = {bytes, is_apart};

	start_with(hold, &held);
}

static void end_target(void)
{
	lost_finish(collector);
	assert_int_equal(collector->lost.halt.threads.count, 0);
	still_child_end(target);
	collect_free(collector);
	(void)unsetenv(ENV_TWIN);
	(void)unsetenv(ENV_STOP_LIMIT);
}

/* A sanitizer makes it large. */
static void need_small_target(void)
{
	if (collector->watch.rss_bytes < ASKED_BYTES)
		return;
	end_target();
	skip();
}

static void start_small_target(uint64_t bytes, bool is_apart)
{
	start_target(bytes, is_apart);
	need_small_target();
}

static void check_found(unsigned leave)
{
	struct error e = {0};

	assert_int_equal(collect_find_lost(collector, leave, &e), 0);
	assert_true(lost_is_known(collector));
	assert_true(collector->lost.pause_ns > 0);
}

static void check_failed(const char *words)
{
	struct error e = {0};

	assert_int_equal(collect_find_lost(collector, 0, &e), -1);
	if (!strstr(e.text, words))
		fail_msg("%s: not in \"%s\"", words, e.text);
	assert_non_null(strstr(e.text, "--long-stop"));
	assert_false(lost_is_known(collector));
}

static void test_a_target_that_would_be_stopped_for_too_long_is_not_stopped(void **state)
{
	static const char *const ways[] = {"0", "later", "now"};

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		start_target(LARGE_BYTES, false);
		(void)setenv(ENV_TWIN, ways[i], 1);
		(void)setenv(ENV_STOP_LIMIT, "0", 1);
		check_failed(" cannot be copied (MIDDEN_TWIN is set)");
		assert_int_equal(collector->lost.deadline.stopped_ns, 0);
		assert_true(collector->lost.expected_ns > 0);
		check_found(COLLECT_LONG_STOP);
		/* A hundred seconds for each GB are enough for anybody. */
		(void)setenv(ENV_STOP_LIMIT, "100000", 1);
		check_found(0);
		end_target();
	}
}

static void test_a_target_that_has_just_grown_is_not_said_to_be_ordered(void **state)
{
	(void)state;
	start_target(LARGE_BYTES, false);
	collector->watch.rss_bytes = SMALL_BYTES;
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	check_failed(" cannot be copied (it was small a moment ago)");
	assert_int_equal(collector->lost.deadline.stopped_ns, 0);
	end_target();
}

/* So that the list of its maps has a line for every page. */
static bool hold_many_maps(const void *unused)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, MAPS * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	for (unsigned i = 0; memory != MAP_FAILED && i < MAPS; i += 2)
		if (mprotect(memory + i * page, page, PROT_READ | PROT_WRITE) != 0)
			return false;
	return memory != MAP_FAILED;
}

static void test_a_target_with_too_many_maps_is_not_stopped(void **state)
{
	(void)state;
	start_with(hold_many_maps, NULL);
	need_small_target();
	(void)setenv(ENV_STOP_LIMIT, "0,1", 1);
	check_failed(" has so many maps that a list of them would stop it for about ");
	assert_int_equal(collector->lost.deadline.stopped_ns, 0);
	check_found(COLLECT_LONG_STOP);
	end_target();
}

#define MS UINT64_C(1000000)

static bool allows_fork(struct collector *c, uint64_t planning_ms, bool is_open)
{
	struct look look = {.collector = c, .planning_ns = planning_ms * MS};

	c->lost.twin.why = NULL;
	deadline_start(&c->lost.deadline, 0, is_open);
	return lost_pace_allows_fork(&look);
}

/* Of a hundred milliseconds: a fork does more for each map than is done to list it. */
static void test_a_target_whose_maps_take_a_third_of_the_time_is_not_copied(void **state)
{
	(void)state;
	start_target(SMALL_BYTES, false);
	assert_true(allows_fork(collector, 33, false));
	assert_null(collector->lost.twin.why);
	assert_false(allows_fork(collector, 34, false));
	assert_non_null(strstr(collector->lost.twin.why, "so many maps"));
	assert_true(allows_fork(collector, 34, true));
	(void)setenv(ENV_STOP_LIMIT, "0,1", 1);
	assert_true(allows_fork(collector, 9, false)); /* which is not asked for */
	assert_false(allows_fork(collector, 10, false));
	end_target();
}

static void test_a_target_that_is_read_too_slowly_is_let_go(void **state)
{
	static const char *const ways[] = {"later", "now"};

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		start_small_target(SMALL_BYTES, false);
		(void)setenv(ENV_TWIN, ways[i], 1);
		(void)setenv(ENV_STOP_LIMIT, "0", 1);
		check_failed(", before all of its memory was read");
		assert_true(collector->lost.deadline.stopped_ns > 0);
		check_found(COLLECT_LONG_STOP);
		end_target();
	}
}

static void test_a_target_that_can_be_copied_is(void **state)
{
	(void)state;
	start_target(LARGE_BYTES, false);
	(void)setenv(ENV_TWIN, "1", 1);
	(void)setenv(ENV_STOP_LIMIT, "0,10000", 1);
	check_found(0);
	assert_true(collector->lost.flags & PROFILE_LOST_COPIED);
	end_target();
}

static void test_a_target_of_another_parent_is_copied_with_leave_only(void **state)
{
	(void)state;
	start_target(LARGE_BYTES, false);
	(void)setenv(ENV_STOP_LIMIT, "0,10000", 1); /* however slow a fork is */
	check_failed(" cannot be copied (`midden record` is not its parent)");
	check_failed(", --child-copy a copy that is its child");
	assert_int_equal(collector->lost.deadline.stopped_ns, 0);
	check_found(COLLECT_CHILD_COPY);
	assert_true(collector->lost.flags & PROFILE_LOST_COPIED);
	end_target();
}

/* Memory that another process is asked about, if the kernel lets us. */
static bool hold_guarded(const void *unused)
{
	const struct held held = {LARGE_BYTES, false};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = {.api = UFFD_API};
	char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)memory, page},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	(void)unused;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		(void)prctl(PR_SET_NAME, "without");
	return hold(&held);
}

static bool is_without(void)
{
	char path[64], name[16] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)target);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(name, sizeof(name), file));
	(void)fclose(file);
	return strncmp(name, "without", 7) == 0;
}

/* Where it would be of no use, nobody is told to give leave. */
static void test_leave_is_asked_for_only_where_it_helps(void **state)
{
	struct error e = {0};

	(void)state;
	start_with(hold_guarded, NULL);
	if (is_without()) {
		end_target();
		skip();
	}
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	check_failed(" cannot be copied (it has a userfaultfd that is asked about forks)");
	assert_int_equal(collect_find_lost(collector, 0, &e), -1);
	assert_null(strstr(e.text, "--child-copy"));
	end_target();
}

/* A process that has been stopped by a signal has no thread that could make a copy, which is seen
 * in the stop only. */
static void test_where_a_copy_fails_the_next_way_is_not_gone_for_long(void **state)
{
	int status;

	(void)state;
	start_target(LARGE_BYTES, false);
	(void)setenv(ENV_TWIN, "1", 1);
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	assert_int_equal(kill(target, SIGSTOP), 0);
	assert_int_equal(waitpid(target, &status, WUNTRACED), target);
	check_failed(" cannot be copied (the kernel refuses it, or no thread can be asked for it)");
	assert_true(collector->lost.deadline.stopped_ns > 0); /* for the try */
	check_found(COLLECT_LONG_STOP);
	assert_int_equal(kill(target, SIGCONT), 0);
	end_target();
}

static void test_what_a_fork_leaves_out_is_not_read_for_long(void **state)
{
	(void)state;
	start_target(LARGE_BYTES, true);
	(void)setenv(ENV_TWIN, "1", 1);
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	check_failed(" cannot be copied (a fork leaves much of it out)");
	assert_int_equal(collector->lost.deadline.stopped_ns, 0);
	check_found(COLLECT_LONG_STOP);
	end_target();
	/* There is too little of it to be asked for before. */
	start_small_target(4 * SMALL_BYTES, true);
	(void)setenv(ENV_TWIN, "1", 1);
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	/* memory was read, or on a slow machine threads had stopped */
	check_failed(", before all of its ");
	assert_int_equal(collector->lost.twin.pid, 0);
	check_found(COLLECT_LONG_STOP);
	end_target();
}

static _Atomic bool is_quiet;

/* Says more than anybody hears. */
static void *talk(void *unused)
{
	struct producer p = producer_open(collector, 2);
	uint64_t ticks = 100;

	for (; !atomic_load(&is_quiet); ticks += 2) {
		producer_alloc(&p, ticks, 0x10000, 8, 1);
		producer_free(&p, ticks + 1, 0x10000);
	}
	producer_end(&p, ticks);
	return unused;
}

static void test_a_target_whose_last_events_would_take_too_long_is_not_stopped(void **state)
{
	struct error e = {0};
	pthread_t thread;
	bool is_refused = false;

	(void)state;
	start_small_target(SMALL_BYTES, false);
	(void)setenv(ENV_STOP_LIMIT, "0,0", 1);
	atomic_store(&is_quiet, false);
	assert_int_equal(pthread_create(&thread, NULL, talk, NULL), 0);
	/* A busy machine may not let it speak. */
	for (unsigned i = 0; i < LOOKS_MOST && !is_refused; i++) {
		e = (struct error){0};
		assert_int_equal(collect_find_lost(collector, 0, &e), -1);
		is_refused = strstr(e.text, " to handle its last events would stop it for about ");
		assert_true(is_refused || strstr(e.text, "before all of its threads had stopped") ||
			    strstr(e.text, " so many maps "));
	}
	assert_true(is_refused);
	assert_int_equal(collector->lost.deadline.stopped_ns, 0);
	atomic_store(&is_quiet, true);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		(void)collect_drain(collector);
	/* Nobody has time to stop, now that there is silence. */
	(void)collect_drain(collector);
	e = (struct error){0};
	assert_int_equal(collect_find_lost(collector, 0, &e), -1);
	assert_null(strstr(e.text, " its last events "));
	(void)unsetenv(ENV_STOP_LIMIT);
	check_found(COLLECT_LONG_STOP);
	end_target();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_target_that_would_be_stopped_for_too_long_is_not_stopped),
		cmocka_unit_test(test_a_target_that_has_just_grown_is_not_said_to_be_ordered),
		cmocka_unit_test(test_a_target_with_too_many_maps_is_not_stopped),
		cmocka_unit_test(test_a_target_whose_maps_take_a_third_of_the_time_is_not_copied),
		cmocka_unit_test(test_a_target_that_is_read_too_slowly_is_let_go),
		cmocka_unit_test(test_a_target_that_can_be_copied_is),
		cmocka_unit_test(test_a_target_of_another_parent_is_copied_with_leave_only),
		cmocka_unit_test(test_leave_is_asked_for_only_where_it_helps),
		cmocka_unit_test(test_where_a_copy_fails_the_next_way_is_not_gone_for_long),
		cmocka_unit_test(test_what_a_fork_leaves_out_is_not_read_for_long),
		cmocka_unit_test(
			test_a_target_whose_last_events_would_take_too_long_is_not_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
