/* stash_test.c -- memory that is read at once and looked at later is the memory that is looked at
 * at once, whatever has become of it in between. Runs: as a test program, with itself or a child
 * as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/deadline.h"
#include "collect/gather.h"
#include "collect/stash.h"
#include "still_child.h"

#define MEMORY_BYTES (UINT64_C(5) << 20)
#define PLENTY	     (UINT64_C(1) << 40)
#define ROOM_BYTES   (UINT64_C(10) << 20) /* the least that a stash has */

static uint64_t *memory; /* every third word is a pointer into itself */
static uint64_t page;
static pid_t target; /* this process, or a child */

static int set_up(void **state)
{
	(void)state;
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	target = getpid();
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < MEMORY_BYTES / 8; i++)
		memory[i] = i % 3 ? i : (uintptr_t)&memory[i / 2];
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(memory, MEMORY_BYTES);
	return 0;
}

static uint64_t get_address(uint64_t offset)
{
	return (uintptr_t)memory + offset;
}

static struct gather *new_gather(void)
{
	struct gather *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	gather_expect(g, get_address(0), get_address(MEMORY_BYTES));
	crew_call(&g->crew);
	return g;
}

struct sum {
	uint64_t words;
	uint64_t hash;
	uint64_t last;
};

static bool add_word(void *context, uint64_t address, uint64_t value)
{
	struct sum *s = context;

	assert_true(!s->words || address > s->last);
	s->last = address;
	s->words++;
	s->hash = (s->hash + address) * 31 + value;
	return true;
}

static struct sum add_up(struct gather *g)
{
	const struct gather_range all = {0, UINT64_MAX};
	struct sum s = {0};

	gather_sort(g);
	gather_visit(g, &all, add_word, &s);
	return s;
}

static uint64_t count_read(const struct gather *g, bool unread)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < g->part_count; i++)
		bytes += unread ? g->parts[i].unread_bytes : g->parts[i].read_bytes;
	return bytes;
}

static struct gather *look_now(const struct gather_range *ranges, size_t count)
{
	struct gather *g = new_gather();

	assert_true(gather_read(g, target, ranges, count));
	return g;
}

static struct gather *look_later(const struct gather_range *ranges, size_t count, struct stash *s)
{
	struct gather *g = new_gather();

	gather_touch(g, s);
	assert_true(gather_stash(g, s, target, ranges, count));
	gather_sift(g, s);
	return g;
}

static void end_look(struct gather *g)
{
	gather_fini(g);
	free(g);
}

/* `room_bytes`: what the stash has room for, 0 for as much as it makes. */
static void check_same(const struct gather_range *ranges, size_t count, uint64_t room_bytes)
{
	struct stash s = {0};

	assert_true(stash_open(&s, MEMORY_BYTES, PLENTY));
	uint64_t whole = s.room_bytes;
	if (room_bytes)
		s.room_bytes = room_bytes;
	struct gather *now = look_now(ranges, count);
	struct gather *later = look_later(ranges, count, &s);
	assert_int_equal(count_read(later, false), count_read(now, false));
	assert_int_equal(count_read(later, true), count_read(now, true));
	struct sum a = add_up(now), b = add_up(later);
	assert_true(a.words > 1000);
	assert_int_equal(a.words, b.words);
	assert_true(a.hash == b.hash);
	end_look(now);
	end_look(later);
	s.room_bytes = whole;
	stash_close(&s);
}

static void test_what_is_looked_at_later_is_what_was_there(void **state)
{
	const struct gather_range whole = {get_address(0), get_address(MEMORY_BYTES)};

	(void)state;
	check_same(&whole, 1, 0);
}

/* Stacks begin with any word, so that nothing behind one lies at a place that it would like. */
static void test_ranges_begin_and_end_with_any_word(void **state)
{
	const struct gather_range ranges[] = {
		{get_address(8), get_address(24)},
		{get_address(40), get_address(1000)},
		{get_address(2 * page), get_address(2 * page + 8)},
		{get_address(3 * page), get_address(1 << 20)},
		{get_address((1 << 20) + 8), get_address(MEMORY_BYTES - 8)},
	};

	(void)state;
	check_same(ranges, sizeof(ranges) / sizeof(ranges[0]), 0);
}

/* More pieces than the kernel takes at once. */
static void test_every_other_page_is_read(void **state)
{
	static struct gather_range ranges[MEMORY_BYTES / 4096];
	size_t count = 0;

	(void)state;
	for (uint64_t at = 0; at < MEMORY_BYTES; at += 2 * page)
		ranges[count++] = (struct gather_range){get_address(at), get_address(at + page)};
	check_same(ranges, count, 0);
	for (size_t i = 0; i < count; i++)
		ranges[i].end = ranges[i].start + 64;
	check_same(ranges, count, 0);
}

static void test_what_has_grown_since_is_looked_at_at_once(void **state)
{
	const struct gather_range ranges[] = {
		{get_address(0), get_address(page)},
		{get_address(4 * page + 16), get_address(MEMORY_BYTES / 2)},
		{get_address(MEMORY_BYTES / 2 + page), get_address(MEMORY_BYTES)},
	};

	(void)state;
	for (uint64_t bytes = STASH_UNIT_BYTES; bytes < MEMORY_BYTES; bytes += STASH_UNIT_BYTES)
		check_same(ranges, 3, bytes);
	check_same(ranges, 3, page);
}

static void test_what_does_not_fit_is_told(void **state)
{
	const struct gather_range ranges[] = {{4096, 8192}, {16384, 65536}, {131072, 135168}};
	struct stash s = {.room_bytes = 4 * 4096};

	(void)state;
	stash_plan(&s, ranges, 3);
	assert_int_equal(s.ranges.count, 2);
	assert_int_equal(s.ranges.at[1].end, 16384 + 3 * 4096);
	assert_int_equal(s.places.at[1], 4096);
	assert_int_equal(s.used_bytes, 4 * 4096);
	assert_int_equal(s.rest.count, 2);
	assert_int_equal(s.rest.at[0].start, 16384 + 3 * 4096);
	assert_int_equal(s.rest.at[1].end, 135168);
	s.room_bytes = 0;
	stash_close(&s);
}

static bool make_holes(const void *context)
{
	(void)context;
	return munmap(memory + (1 << 20) / 8, 1 << 20) == 0 &&
	       mprotect(memory + (3 << 20) / 8, page, PROT_NONE) == 0;
}

/* A child that has given up a part of the memory, and the right to read another. */
static void start_with_holes(void)
{
	target = still_child_start(make_holes, NULL);
}

static void test_what_is_gone_or_forbidden_is_counted_and_holds_nothing(void **state)
{
	const struct gather_range whole = {get_address(0), get_address(MEMORY_BYTES)};
	struct stash s = {0};

	(void)state;
	start_with_holes();
	check_same(&whole, 1, 0);
	assert_true(stash_open(&s, MEMORY_BYTES, PLENTY));
	memset(s.room, 0x55, s.room_bytes);
	struct gather *g = look_later(&whole, 1, &s);
	assert_int_equal(count_read(g, true), (1 << 20) + page);
	end_look(g);
	stash_close(&s);
	assert_int_equal(kill(target, SIGKILL), 0);
	assert_int_equal(waitpid(target, NULL, 0), target);
}

static void test_the_memory_is_given_back_as_it_is_looked_at(void **state)
{
	const struct gather_range whole = {get_address(0), get_address(MEMORY_BYTES)};
	struct stash s = {0};
	unsigned char resident[MEMORY_BYTES / 4096] = {0};

	(void)state;
	assert_true(stash_open(&s, MEMORY_BYTES, PLENTY));
	struct gather *g = new_gather();
	gather_touch(g, &s);
	assert_int_equal(mincore(s.room, MEMORY_BYTES, resident), 0);
	for (size_t i = 0; i < MEMORY_BYTES / page; i++)
		assert_true(resident[i] & 1);
	assert_true(gather_stash(g, &s, getpid(), &whole, 1));
	gather_sift(g, &s);
	assert_int_equal(mincore(s.room, MEMORY_BYTES, resident), 0);
	for (size_t i = 0; i < MEMORY_BYTES / page; i++)
		assert_false(resident[i] & 1);
	end_look(g);
	stash_close(&s);
}

static void test_no_more_than_half_of_what_is_left_is_taken(void **state)
{
	struct stash s = {0};

	(void)state;
	assert_false(stash_open(&s, 0, 2 * ROOM_BYTES - 1));
	assert_null(s.room);
	assert_true(stash_open(&s, 0, 2 * ROOM_BYTES));
	assert_int_equal(s.room_bytes, ROOM_BYTES);
	stash_close(&s);
	assert_false(stash_open(&s, UINT64_C(1) << 30, UINT64_C(2) << 30));
	assert_false(stash_open(&s, UINT64_MAX - 4096, UINT64_MAX));
	/* The kernel has no such place. */
	assert_false(stash_open(&s, UINT64_C(1) << 60, UINT64_MAX));
	assert_null(s.room);
	stash_close(&s);
}

static void test_when_time_is_over_nothing_is_read_any_more(void **state)
{
	const struct gather_range whole = {get_address(0), get_address(MEMORY_BYTES)};
	struct deadline none = {.since_ns = 1};
	struct stash s = {0};

	(void)state;
	assert_true(stash_open(&s, MEMORY_BYTES, PLENTY));
	struct gather *g = new_gather();
	gather_touch(g, &s);
	g->deadline = &none;
	assert_true(gather_stash(g, &s, target, &whole, 1));
	assert_true(g->is_late);
	g->is_late = false;
	assert_true(gather_read(g, target, &whole, 1));
	assert_true(g->is_late);
	assert_int_equal(count_read(g, false) + count_read(g, true), 0);
	/* With time there is no trace of what was read before. */
	g->is_late = false;
	none.is_open = true;
	assert_true(gather_read(g, target, &whole, 1));
	assert_int_equal(count_read(g, false), MEMORY_BYTES);
	gather_forget(g);
	assert_int_equal(count_read(g, false), 0);
	assert_int_equal(add_up(g).words, 0);
	assert_false(g->is_late);
	end_look(g);
	stash_close(&s);
}

static void test_a_process_that_is_gone_gives_nothing(void **state)
{
	const struct gather_range whole = {get_address(0), get_address(MEMORY_BYTES)};
	struct stash s = {0};

	(void)state;
	assert_true(stash_open(&s, MEMORY_BYTES, PLENTY));
	struct gather *g = new_gather();
	assert_true(gather_stash(g, &s, 0x7fffffff, &whole, 1));
	gather_sift(g, &s);
	assert_int_equal(count_read(g, true), MEMORY_BYTES);
	assert_int_equal(add_up(g).words, 0);
	end_look(g);
	stash_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_looked_at_later_is_what_was_there,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ranges_begin_and_end_with_any_word, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_every_other_page_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_has_grown_since_is_looked_at_at_once,
						set_up, tear_down),
		cmocka_unit_test(test_what_does_not_fit_is_told),
		cmocka_unit_test_setup_teardown(
			test_what_is_gone_or_forbidden_is_counted_and_holds_nothing, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_the_memory_is_given_back_as_it_is_looked_at,
						set_up, tear_down),
		cmocka_unit_test(test_no_more_than_half_of_what_is_left_is_taken),
		cmocka_unit_test_setup_teardown(test_when_time_is_over_nothing_is_read_any_more,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_process_that_is_gone_gives_nothing, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
