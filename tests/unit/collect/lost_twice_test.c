/* lost_twice_test.c -- a look for which the target has to be stopped twice tells of both stops.
 * Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/env.h"
#include "producer.h"
#include "ptrace_call.h"
#include "still_child.h"

#define HELD_UP_US 200000u

static unsigned held_up;

/* In place of the C library's: who is about to have a thread make a call is held up. */
long ptrace(enum __ptrace_request request, ...) /* NOLINT: its name is not ours */
{
	va_list list;

	va_start(list, request);
	const struct ptrace_call call = ptrace_call_read(list);
	va_end(list);
	if (request == PTRACE_GETSIGMASK && ++held_up)
		(void)usleep(HELD_UP_US);
	return ptrace_call_pass(request, &call);
}

/* May make no process, of which nothing is known before it is tried. */
static bool forbid_forks(const void *context)
{
	const struct rlimit none = {0};

	(void)context;
	(void)!setuid(65534); /* root is above limits */
	(void)setrlimit(RLIMIT_NPROC, &none);
	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* forgotten with the user */
	return true;
}

static void test_both_stops_count(void **state)
{
	struct error e = {0};

	(void)state;
	pid_t pid = still_child_start(forbid_forks, NULL);
	struct collector *c =
		producer_new_collector(ticks_is_own(EM_X86_64) ? EM_X86_64 : EM_AARCH64);
	assert_non_null(c);
	(void)unsetenv(ENV_TWIN);
	c->watch.pid = pid;
	c->lost.twin.undertaker = getpid();
	c->watch.rss_bytes = UINT64_C(64) << 20; /* as if it were large */
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), 0);
	assert_true(held_up > 0);
	assert_false(c->lost.flags & PROFILE_LOST_COPIED);
	assert_true(c->lost.pause_ns >= HELD_UP_US * UINT64_C(1000));
	still_child_end(pid);
	collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_stops_count)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
