/* mapped_test.c -- what is mapped, moved and unmapped, call by call, and calls that fail. Runs: as
 * a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/account.h"

#define SLOT  1u
#define OTHER 2u /* another thread's slot */

struct bench {
	struct ticks clock;
	struct account account;
	uint64_t now;
};

static int set_up(void **state)
{
	static struct bench b;

	b = (struct bench){.now = 100};
	ticks_init(&b.clock, SEGMENT_CLOCK_MONOTONIC);
	account_init(&b.account, &b.clock, 4);
	(void)account_open_thread(&b.account, SLOT, 1);
	(void)account_open_thread(&b.account, OTHER, 2);
	*state = &b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	account_fini(&b->account);
	return 0;
}

static void apply_event(struct bench *b, struct event e)
{
	e.ticks = b->now++;
	e.kind = SEGMENT_EVENT_MAP;
	assert_int_equal(account_apply(&b->account, &e, 1), 1);
}

static const struct mapped *apply(struct bench *b, uint32_t call, uint64_t at, uint64_t bytes,
				  uint64_t kind)
{
	apply_event(b, (struct event){.ptr = at,
				      .size = bytes,
				      .hash = kind << 32 | 3,
				      .slot = SLOT,
				      .api = (uint8_t)call});
	return b->account.mapped;
}

static void apply_other(struct bench *b, uint32_t call, uint64_t at, uint64_t bytes)
{
	apply_event(b,
		    (struct event){.ptr = at, .size = bytes, .slot = OTHER, .api = (uint8_t)call});
}

static void a_map_is_gone_with_its_last_part(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, SEGMENT_MAP_FILE);

	(void)apply(b, SEGMENT_MAP_REMOVED, 1040, 20, 0);
	assert_int_equal(m->peak.live_bytes, 80);
	assert_int_equal(m->peak.live_blocks, 1);
	(void)apply(b, SEGMENT_MAP_REMOVED, 900, 140, 0);
	assert_int_equal(m->peak.live_blocks, 1);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1060, 40, 0);
	assert_int_equal(m->peak.live_bytes, 0);
	assert_int_equal(m->peak.live_blocks, 0);
	assert_int_equal(m->kinds[SEGMENT_MAP_FILE].frees, 1);
	assert_int_equal(m->kinds[SEGMENT_MAP_FILE].freed_bytes, 100);
	assert_int_equal(m->peak.bytes, 100);
	assert_int_equal(m->unknown, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1060, 40, 0);
	assert_int_equal(m->unknown, 1);
}

static void what_was_not_unmapped_after_all_is_as_before(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	(void)apply(b, SEGMENT_MAP_REMOVED, 900, 1000, 0);
	assert_int_equal(m->peak.live_blocks, 0);
	(void)apply(b, SEGMENT_MAP_KEPT, 0, 0, 0);
	assert_int_equal(m->peak.live_bytes, 100);
	assert_int_equal(m->peak.live_blocks, 1);
	assert_int_equal(m->kinds[0].frees, 0);
	assert_int_equal(m->kinds[0].freed_bytes, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1000, 100, 0);
	assert_int_equal(m->peak.live_bytes, 0);
	assert_int_equal(m->kinds[0].frees, 1);
}

static void a_move_counts_one_of_each_and_the_peak_not_both(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, SEGMENT_MAP_RESERVED);

	(void)apply(b, SEGMENT_MAP_MOVE, 1000, 100, 0);
	assert_int_equal(m->peak.live_bytes, 100);
	(void)apply(b, SEGMENT_MAP_MOVED, 5000, 150, 0);
	assert_int_equal(m->peak.live_bytes, 150);
	assert_int_equal(m->peak.bytes, 150);
	assert_int_equal(m->kinds[SEGMENT_MAP_RESERVED].allocations, 2);
	assert_int_equal(m->kinds[SEGMENT_MAP_RESERVED].frees, 1);
	assert_int_equal(m->moved, 1);
}

static void a_move_that_fails_leaves_all_as_it_was(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	(void)apply(b, SEGMENT_MAP_MOVE, 1020, 30, 0);
	(void)apply(b, SEGMENT_MAP_MOVE_FAILED, 0, 0, 0);
	assert_int_equal(m->failed, 1);
	assert_int_equal(m->peak.live_bytes, 100);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1000, 100, 0);
	assert_int_equal(m->peak.live_bytes, 0);
	assert_int_equal(m->peak.live_blocks, 0);
}

static void a_map_replaces_what_was_there(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	(void)apply(b, SEGMENT_MAP_ADDED, 1050, 100, SEGMENT_MAP_FILE);
	assert_int_equal(m->peak.live_bytes, 150);
	assert_int_equal(m->kinds[0].freed_bytes, 50);
	assert_int_equal(m->kinds[0].frees, 0);
	(void)apply(b, SEGMENT_MAP_ADDED, 900, 1000, SEGMENT_MAP_FILE);
	assert_int_equal(m->peak.live_bytes, 1000);
	assert_int_equal(m->peak.live_blocks, 1);
}

static void only_a_shared_segment_is_detached_by_its_address(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, SEGMENT_MAP_SHARED);

	(void)apply(b, SEGMENT_MAP_ADDED, 2000, 100, SEGMENT_MAP_FILE);
	(void)apply(b, SEGMENT_MAP_DETACHED, 2000, 0, 0);
	(void)apply(b, SEGMENT_MAP_DETACHED, 1000, 0, 0);
	assert_int_equal(m->unknown, 1);
	assert_int_equal(m->peak.live_bytes, 100);
	assert_int_equal(m->kinds[SEGMENT_MAP_SHARED].frees, 1);
}

static void figures_that_start_over_count_what_is_there(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	(void)apply(b, SEGMENT_MAP_ADDED, 2000, 50, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 2000, 50, 0);
	mapped_clear(b->account.mapped, b->now);
	assert_int_equal(m->kinds[0].allocations, 1);
	assert_int_equal(m->kinds[0].frees, 0);
	assert_int_equal(m->peak.bytes, 100);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1000, 100, 0);
	assert_int_equal(m->kinds[0].freed_bytes, 100);
}

static void what_comes_back_after_figures_started_over_counts_as_mapped(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	(void)apply(b, SEGMENT_MAP_ADDED, 2000, 50, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1040, 2000, 0); /* a part of one, all of the other */
	mapped_clear(b->account.mapped, b->now);
	assert_int_equal(m->kinds[0].allocated_bytes, 40);
	(void)apply(b, SEGMENT_MAP_KEPT, 0, 0, 0);
	assert_int_equal(m->kinds[0].allocations, 2);
	assert_int_equal(m->kinds[0].allocated_bytes, 150);
	assert_int_equal(m->kinds[0].frees, 0);
	assert_int_equal(m->kinds[0].freed_bytes, 0);
	assert_int_equal(m->kinds[0].own_peak_bytes, 150);
	assert_int_equal(m->peak.live_bytes, 150);
	assert_int_equal(m->peak.live_blocks, 2);
	assert_int_equal(m->peak.bytes, 150);
}

/* Maps that are not in use are in a list, by their sites: with many in it, a map that got there too
 * early leads far out of the sites. */
static void a_map_is_kept_while_another_thread_may_bring_a_part_back(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);

	for (uint64_t i = 0; i < 1000; i++)
		(void)apply(b, SEGMENT_MAP_ADDED, 10000 + i, 1, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 10000, 1000, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1000, 50, 0);
	apply_other(b, SEGMENT_MAP_REMOVED, 1050, 50);
	assert_int_equal(m->peak.live_blocks, 0);
	(void)apply(b, SEGMENT_MAP_REMOVED, 5000, 1, 0); /* the first part is gone for good */
	assert_int_equal(m->maps.at[0].pieces + m->maps.at[0].in_hands, 1);
	apply_other(b, SEGMENT_MAP_KEPT, 0, 0);
	assert_int_equal(m->peak.live_bytes, 50);
	assert_int_equal(m->peak.live_blocks, 1);
	assert_int_equal(m->kinds[0].frees, 1000);
	(void)apply(b, SEGMENT_MAP_REMOVED, 1000, 100, 0);
	(void)apply(b, SEGMENT_MAP_ADDED, 1000, 100, 0);
	assert_int_equal(m->maps.count, 1001); /* nothing was left behind either */
	assert_int_equal(m->peak.live_bytes, 100);
}

/* A hostile target's: none of it may harm. */
static void answers_without_a_question_change_nothing(void **state)
{
	struct bench *b = *state;
	const struct mapped *m = apply(b, SEGMENT_MAP_KEPT, 0, 0, 0);

	(void)apply(b, SEGMENT_MAP_MOVE_FAILED, 0, 0, 0);
	(void)apply(b, SEGMENT_MAP_ADDED, UINT64_MAX - 10, 100, 0);
	(void)apply(b, SEGMENT_MAP_MOVED, 1000, 10, 0);
	assert_int_equal(m->peak.live_bytes, 10);
	assert_int_equal(m->moved, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_map_is_gone_with_its_last_part),
		TEST(what_was_not_unmapped_after_all_is_as_before),
		TEST(a_move_counts_one_of_each_and_the_peak_not_both),
		TEST(a_move_that_fails_leaves_all_as_it_was),
		TEST(a_map_replaces_what_was_there),
		TEST(only_a_shared_segment_is_detached_by_its_address),
		TEST(figures_that_start_over_count_what_is_there),
		TEST(what_comes_back_after_figures_started_over_counts_as_mapped),
		TEST(a_map_is_kept_while_another_thread_may_bring_a_part_back),
		TEST(answers_without_a_question_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
