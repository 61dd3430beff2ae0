/* lost_heard_test.c -- a target is heard while room is made for its memory: who has more to say
 * than there is room for would wait for all of it, and longer than it is stopped. Runs: as a test
 * program, with a child as target and a thread that speaks for it.
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "format/env.h"
#include "producer.h"
#include "still_child.h"

#define LARGE_BYTES (UINT64_C(96) << 20)
#define STEP_KIB    (UINT64_C(24) << 10)
#define TALK_BYTES  (UINT64_C(2) << 20) /* twice the room that there is for events */
#define PAIR_BYTES  40u			/* the events of a block that comes and goes */
#define LOOKS_MOST  40u

static bool take_much(const void *context)
{
	char *large =
		mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	if (large == MAP_FAILED)
		return false;
	memset(large, 1, LARGE_BYTES);
	return true;
}

/* The most memory that this process has had. */
static uint64_t read_most_kib(void)
{
	char line[256];
	uint64_t kib = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	if (file)
		(void)fclose(file);
	return kib;
}

/* It counts from now on. */
static void forget_most(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (!file)
		return;
	(void)fputs("5", file);
	(void)fclose(file);
}

struct talker {
	struct collector *collector;
	uint64_t before_kib;
	uint64_t heard_kib; /* the most memory by when all of it was heard */
	_Atomic bool is_over;
};

/* Begins when some of the room has been made. */
static void *talk(void *context)
{
	struct talker *talker = context;
	struct producer p = producer_open(talker->collector, 2);

	while (!atomic_load(&talker->is_over) && read_most_kib() < talker->before_kib + STEP_KIB)
		(void)usleep(100);
	for (uint64_t i = 0; i < TALK_BYTES / PAIR_BYTES; i++) {
		producer_alloc(&p, 100 + 2 * i, 0x10000, 8, 1);
		producer_free(&p, 101 + 2 * i, 0x10000);
	}
	talker->heard_kib = read_most_kib();
	producer_end(&p, UINT64_C(1) << 30);
	return NULL;
}

/* One look: whether all was heard before there was room for all. */
static bool is_heard_early(pid_t pid)
{
	struct error e = {0};
	struct collector *c =
		producer_new_collector(ticks_is_own(EM_X86_64) ? EM_X86_64 : EM_AARCH64);
	pthread_t thread;

	assert_non_null(c);
	c->watch.pid = pid;
	forget_most();
	struct talker talker = {.collector = c, .before_kib = read_most_kib()};
	assert_int_equal(pthread_create(&thread, NULL, talk, &talker), 0);
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), 0);
	uint64_t most_kib = read_most_kib();
	bool is_later = c->lost.flags & PROFILE_LOST_LATER;
	atomic_store(&talker.is_over, true);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		(void)collect_drain(c);
	collect_free(c);
	if (!is_later)
		skip(); /* there is no memory for it */
	return talker.heard_kib + STEP_KIB < most_kib;
}

/* A busy machine may let nobody speak in time. */
static void test_while_room_is_made_the_target_is_heard(void **state)
{
	bool is_early = false;
	pid_t pid = still_child_start(take_much, NULL);

	(void)state;
	for (unsigned i = 0; i < LOOKS_MOST && !is_early; i++)
		is_early = is_heard_early(pid);
	assert_true(is_early);
	still_child_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_room_is_made_the_target_is_heard),
	};

	(void)setenv(ENV_TWIN, "later", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
