/* lost_test.c -- the look at what is lost in another process: what it finds, that the process goes
 * on, and that claims which cannot be do no harm. Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "collect/clear.h"
#include "collect/crew.h"
#include "collect/lost_way.h"
#include "format/env.h"
#include "producer.h"
#include "still_child.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#define HEAP_BYTES (UINT64_C(1) << 20)
#define BLOCK	   256u
#define FIRST	   32u /* block that is used: behind a page that keeps the mapping apart */
#define ALONE	   40u /* one that no other test uses: what they freed may hold its address */

/* The target's memory: blocks in `heap` (not the first one, to which this variable itself points),
 * and a page of variables. */
static uint64_t *heap;
static uint64_t *page;

static uint64_t get_block(unsigned number)
{
	return (uint64_t)(uintptr_t)heap + number * (uint64_t)BLOCK;
}

static void point(unsigned from, uint64_t to)
{
	heap[from * BLOCK / 8] = to;
}

/* Overwrites what calls have left on the stack. */
__attribute__((noinline)) static void scrub(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

/* A child that fills its memory and then does nothing. It is born before there is a collector, of
 * which it would have a copy full of addresses. Fills it in this frame, which is still there when
 * it is looked at: still_child.h would leave more on the stack. */
static pid_t start_target(void (*fill)(void))
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fill();
		scrub();
		(void)!write(ends[1], "r", 1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static int set_up(void **state)
{
	(void)state;
	heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Each in a mapping of its own: what has a block in it is a heap. */
	(void)mprotect(heap, 4096, PROT_NONE);
	return heap != MAP_FAILED && page != MAP_FAILED ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(heap, HEAP_BYTES);
	munmap(page, 4096);
	return 0;
}

static struct collector *new_collector(void)
{
	struct collector *c =
		producer_new_collector(ticks_is_own(EM_X86_64) ? EM_X86_64 : EM_AARCH64);

	assert_non_null(c);
	return c;
}

static struct profile *look_with_leave(struct collector *c, pid_t pid, unsigned leave)
{
	struct error e = {0};

	c->watch.pid = pid;
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP | leave, &e), 0);
	struct profile *p = collect_build_profile(c);
	assert_int_equal(profile_check(p, &e), 0);
	return p;
}

static struct profile *look(struct collector *c, pid_t pid)
{
	return look_with_leave(c, pid, 0);
}

/* Blocks of a class, whatever the site. */
static uint64_t count(const struct profile *p, uint32_t class)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < p->lost.count; i++)
		if (p->lost.at[i].class == class)
			blocks += p->lost.at[i].blocks;
	return blocks;
}

/* A sanitizer keeps memory that was freed, in which there are addresses of blocks too, and puts
 * mappings of its own beside ours. */
static void assert_count(const struct profile *p, uint32_t class, uint64_t wanted)
{
	if (!IS_SANITIZED)
		assert_int_equal(count(p, class), wanted);
}

/* Its first child in the kernel's eyes, dead or alive; 0: none. */
static int find_child(pid_t pid)
{
	char path[64];
	int child = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fscanf(file, "%d", &child);
	(void)fclose(file);
	return child;
}

static void fill_all_ways(void)
{
	page[1] = get_block(FIRST);
	point(FIRST, get_block(FIRST + 1));
	point(FIRST + 1, get_block(FIRST + 2) + 8);
	point(FIRST + 4, get_block(FIRST + 5));
}

static void test_blocks_of_another_process_are_held_or_lost(void **state)
{
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);

	(void)state;
	c->map.header->real_malloc = (uint64_t)(uintptr_t)malloc;
	for (unsigned i = 0; i < 6; i++)
		producer_alloc(&t, 10 + i, get_block(FIRST + i), BLOCK, 1);
	producer_drain(c);
	struct profile *p = look(c, pid);
	assert_count(p, PROFILE_LOST_HELD, 2);
	assert_count(p, PROFILE_LOST_INTERIOR, 1);
	assert_count(p, PROFILE_LOST_DEFINITE, 2);
	assert_count(p, PROFILE_LOST_INDIRECT, 1);
	assert_int_equal(p->run.lost_flags, PROFILE_LOST_CHECKED | PROFILE_LOST_COPIED);
	assert_true(p->run.lost_pause_ns > 0);
	profile_free(p);
	still_child_end(pid);
	collect_free(c);
}

/* The same target, looked at in each way that there is. */
static void check_way(const char *way, uint32_t flags, void (*prepare)(void))
{
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);

	(void)setenv(ENV_TWIN, way, 1);
	c->map.header->real_malloc = (uint64_t)(uintptr_t)malloc;
	for (unsigned i = 0; i < 6; i++)
		producer_alloc(&t, 10 + i, get_block(FIRST + i), BLOCK, 1);
	producer_drain(c);
	if (prepare)
		prepare();
	for (unsigned i = 0; i < 3; i++) {
		c->watch.rss_bytes = 0; /* it is small, but not with a sanitizer */
		struct profile *p = look(c, pid);
		assert_count(p, PROFILE_LOST_HELD, 2);
		assert_count(p, PROFILE_LOST_INTERIOR, 1);
		assert_count(p, PROFILE_LOST_DEFINITE, 2);
		assert_count(p, PROFILE_LOST_INDIRECT, 1);
		assert_int_equal(p->run.lost_flags, PROFILE_LOST_CHECKED | flags);
		profile_free(p);
	}
	(void)setenv(ENV_TWIN, "1", 1);
	still_child_end(pid);
	collect_free(c);
}

static void test_every_way_to_look_finds_the_same(void **state)
{
	(void)state;
	check_way("1", PROFILE_LOST_COPIED, NULL);
	check_way("later", PROFILE_LOST_LATER, NULL);
	check_way("now", 0, NULL);
	check_way("0", 0, NULL); /* it is small */
}

/* From now on no more than the look itself takes: room for what is read is more than that. */
static void limit_memory(void)
{
	struct rlimit limit;
	struct watch self;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	watch_open(&self, getpid());
	watch_sample_rss(&self);
	limit.rlim_cur = self.virtual_bytes + (9u << 20);
	watch_close(&self);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void test_where_there_is_no_memory_for_it_nothing_is_put_aside(void **state)
{
	struct rlimit before;

	(void)state;
	if (IS_SANITIZED)
		skip(); /* it has mapped more than anybody may */
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	check_way("later", 0, limit_memory);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

/* By its size alone, and by what can be had and is allowed. */
static void check_large(uint32_t flags, pid_t undertaker, unsigned leave, void (*prepare)(void))
{
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();

	(void)unsetenv(ENV_TWIN);
	c->lost.twin.undertaker = undertaker;
	c->watch.rss_bytes = UINT64_C(64) << 20;
	if (prepare)
		prepare();
	struct profile *p = look_with_leave(c, pid, leave);
	assert_int_equal(p->run.lost_flags, PROFILE_LOST_CHECKED | flags);
	profile_free(p);
	lost_finish(c);
	assert_int_equal(find_child(pid), 0);
	(void)setenv(ENV_TWIN, "1", 1);
	still_child_end(pid);
	collect_free(c);
	while (undertaker && waitpid(-1, NULL, __WALL | WNOHANG) > 0)
		;
}

static void test_a_child_copy_is_made_only_with_leave(void **state)
{
	struct rlimit before;

	(void)state;
	check_large(PROFILE_LOST_COPIED, getpid(), 0, NULL);
	check_large(PROFILE_LOST_COPIED, getpid(), COLLECT_CHILD_COPY, NULL);
	check_large(PROFILE_LOST_LATER, 0, 0, NULL);
	check_large(PROFILE_LOST_COPIED, 0, COLLECT_CHILD_COPY, NULL);
	if (IS_SANITIZED)
		skip(); /* it has mapped more than anybody may */
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	check_large(0, 0, 0, limit_memory);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	check_large(PROFILE_LOST_COPIED, 0, COLLECT_CHILD_COPY, limit_memory);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void check_order(const char *way, uint64_t bytes, bool may_have_child,
			const enum lost_way *wanted)
{
	if (way)
		(void)setenv(ENV_TWIN, way, 1);
	else
		(void)unsetenv(ENV_TWIN);
	const enum lost_way *found = lost_way_choose(bytes, may_have_child);
	for (;; found++, wanted++) {
		assert_int_equal(*found, *wanted);
		if (*found == LOST_NOW)
			break;
	}
	(void)setenv(ENV_TWIN, "1", 1);
}

static void test_a_large_program_is_to_know_nothing_of_it_and_a_small_one_is_looked_at(void **state)
{
	const enum lost_way unseen[] = {LOST_SIBLING, LOST_LATER, LOST_NOW};
	const enum lost_way as_child[] = {LOST_COPY, LOST_LATER, LOST_NOW};
	const enum lost_way later[] = {LOST_LATER, LOST_NOW};
	const enum lost_way copy[] = {LOST_COPY, LOST_NOW}, now[] = {LOST_NOW};
	const uint64_t large = UINT64_C(16) << 20;

	(void)state;
	check_order(NULL, large, false, unseen);
	check_order(NULL, large, true, as_child);
	check_order(NULL, large - 1, false, now);
	check_order(NULL, large - 1, true, now);
	check_order("0", large, true, later);
	check_order("0", large - 1, false, now);
	check_order("1", 0, false, copy);
	check_order("later", 0, true, later);
	check_order("now", large, true, now);
}

/* The page with the pointer is one that no copy of the process has. */
static void check_apart(void (*fill)(void))
{
	pid_t pid = start_target(fill);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);

	c->map.header->real_malloc = (uint64_t)(uintptr_t)malloc;
	producer_alloc(&t, 10, get_block(FIRST), BLOCK, 1);
	producer_drain(c);
	struct profile *p = look(c, pid);
	assert_count(p, PROFILE_LOST_HELD, 1);
	assert_int_equal(p->run.lost_flags, PROFILE_LOST_CHECKED | PROFILE_LOST_COPIED);
	profile_free(p);
	still_child_end(pid);
	collect_free(c);
}

static void fill_what_is_not_copied(void)
{
	page[1] = get_block(FIRST);
	(void)madvise(page, 4096, MADV_DONTFORK);
}

static void fill_what_is_wiped(void)
{
	page[1] = get_block(FIRST);
	(void)madvise(page, 4096, MADV_WIPEONFORK);
}

static void test_memory_that_a_fork_leaves_out_is_read_too(void **state)
{
	(void)state;
	check_apart(fill_what_is_not_copied);
	check_apart(fill_what_is_wiped);
}

static void test_blocks_that_cannot_be_do_no_harm(void **state)
{
	const uint64_t starts[] = {1, 4096, get_block(FIRST), get_block(FIRST) + 1,
				   UINT64_MAX - 4096};
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);
	uint64_t blocks = 0;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		producer_alloc(&t, 10 + i, starts[i], UINT64_C(1) << 40, 1);
	c->map.header->own_end = UINT64_MAX;
	c->map.header->real_malloc = get_block(3);
	c->map.slots[1].stack_high = UINT64_MAX;
	producer_drain(c);
	struct profile *p = look(c, pid);
	for (uint32_t class = 0; class < PROFILE_LOST_CLASSES; class ++)
		blocks += count(p, class);
	assert_int_equal(blocks, 5);
	profile_free(p);
	still_child_end(pid);
	collect_free(c);
}

static void fill_with_one_value(void)
{
	for (unsigned i = 0; i < 512; i++)
		page[i] = get_block(ALONE) + 8;
	page[300] = get_block(ALONE);
}

static void test_many_words_with_one_value_are_one_root(void **state)
{
	pid_t pid = start_target(fill_with_one_value);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);

	(void)state;
	c->map.header->real_malloc = (uint64_t)(uintptr_t)malloc;
	producer_alloc(&t, 10, get_block(ALONE), BLOCK, 1);
	producer_drain(c);
	struct profile *p = look(c, pid);
	assert_count(p, PROFILE_LOST_HELD, 1);
	if (!IS_SANITIZED) {
		assert_int_equal(p->links.count, 2);
		assert_int_equal(p->links.at[0].address, (uintptr_t)&page[300]);
	}
	profile_free(p);
	still_child_end(pid);
	collect_free(c);
}

static void test_memory_where_a_stack_had_been_is_read_as_what_it_is_now(void **state)
{
	const uint64_t highs[] = {(uintptr_t)&page[256], (uintptr_t)heap + HEAP_BYTES - BLOCK};
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);

	(void)state;
	c->map.header->real_malloc = (uint64_t)(uintptr_t)malloc;
	for (unsigned i = 0; i < 6; i++)
		producer_alloc(&t, 10 + i, get_block(FIRST + i), BLOCK, 1);
	producer_drain(c);
	for (unsigned i = 0; i < 2; i++) {
		c->map.slots[t.slot].stack_high = highs[i];
		struct profile *p = look(c, pid);
		assert_count(p, PROFILE_LOST_HELD, 2);
		assert_count(p, PROFILE_LOST_INTERIOR, 1);
		profile_free(p);
	}
	still_child_end(pid);
	collect_free(c);
}

static void test_what_was_known_is_gone_when_sites_get_other_numbers(void **state)
{
	pid_t pid = start_target(fill_all_ways);
	struct collector *c = new_collector();
	struct producer t = producer_open(c, 1);
	struct error e = {0};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		producer_alloc(&t, 10 + i, get_block(FIRST + i), BLOCK, 1);
	producer_drain(c);
	profile_free(look(c, pid));
	clear_figures(&c->account, 100);
	c->account.clears++;
	struct profile *p = collect_build_profile(c);
	assert_int_equal(profile_check(p, &e), 0);
	assert_int_equal(p->lost.count, 0);
	assert_int_equal(p->run.lost_flags, 0);
	profile_free(p);
	still_child_end(pid);
	collect_free(c);
}

static void test_a_process_that_is_gone_is_told(void **state)
{
	pid_t pid = start_target(scrub);
	struct collector *c = new_collector();
	struct error e = {0};

	(void)state;
	still_child_end(pid);
	watch_close(&c->watch);
	watch_open(&c->watch, pid);
	assert_int_equal(collect_find_lost(c, COLLECT_LONG_STOP, &e), -1);
	assert_non_null(strstr(e.text, " has ended meanwhile"));
	collect_free(c);
}

/* A call that a stop would end: the dead copy is not waited for by a thread in there, as long as
 * there is time. */
static void wait_for_events(_Atomic uint32_t *is_ready)
{
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	atomic_store(is_ready, 1);
	for (;;)
		(void)epoll_wait(epoll, &event, 1, -1);
}

static void test_a_recording_that_ends_leaves_no_copy_behind(void **state)
{
	volatile bool stop = true;

	(void)state;
	_Atomic uint32_t *is_ready =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(is_ready, MAP_FAILED);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_for_events(is_ready);
	}
	assert_true(pid > 0);
	struct collector *c = new_collector();
	while (!atomic_load(is_ready))
		(void)usleep(1000);
	profile_free(look(c, pid));
	(void)collect_run(c, 0, &stop);
	assert_int_equal(find_child(pid), 0);
	still_child_end(pid);
	collect_free(c);
	munmap(is_ready, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocks_of_another_process_are_held_or_lost,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_way_to_look_finds_the_same, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_where_there_is_no_memory_for_it_nothing_is_put_aside, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_child_copy_is_made_only_with_leave, set_up,
						tear_down),
		cmocka_unit_test(
			test_a_large_program_is_to_know_nothing_of_it_and_a_small_one_is_looked_at),
		cmocka_unit_test_setup_teardown(test_memory_that_a_fork_leaves_out_is_read_too,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_blocks_that_cannot_be_do_no_harm, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_many_words_with_one_value_are_one_root, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_memory_where_a_stack_had_been_is_read_as_what_it_is_now, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_was_known_is_gone_when_sites_get_other_numbers, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_process_that_is_gone_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_recording_that_ends_leaves_no_copy_behind,
						set_up, tear_down),
	};

	(void)setenv(ENV_TWIN, "1", 1); /* however small a target is */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
