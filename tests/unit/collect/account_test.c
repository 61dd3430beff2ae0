/* account_test.c -- what each kind of event does to the figures, exactly. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig.h"

#define A UINT64_C(0x10000)
#define B UINT64_C(0x20000)
#define C UINT64_C(0x30000)

static int set_up(void **state)
{
	static struct fixture f;

	if (rig_set_up(&f, state))
		return -1;
	f.one = producer_open(f.c, 1);
	f.two = producer_open(f.c, 2);
	rig_add_nodes(&f);
	return 0;
}

/* ---- allocation and free --------------------------------------------------------------------- */

static void an_allocation_counts_everywhere(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 3);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.allocations, 1);
	assert_int_equal(p->totals.allocated_bytes, 64);
	assert_int_equal(p->totals.frees, 0);
	assert_int_equal(p->totals.peak_bytes, 64);
	assert_int_equal(p->totals.peak_blocks, 1);
	assert_int_equal(p->totals.peak_time_ns, 100);
	assert_int_equal(p->totals.leaked_bytes, 64);
	assert_int_equal(p->totals.leaked_blocks, 1);
	assert_int_equal(p->totals.stacks, 1);
	assert_int_equal(p->totals.threads, 2);
	assert_int_equal(p->totals.api_calls[SEGMENT_API_MALLOC], 1);
	assert_int_equal(p->sites.count, 1);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].pc, 0x400002);
	assert_int_equal(p->sites.at[0].live_bytes, 64);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 64);
	assert_int_equal(p->sites.at[0].own_peak_bytes, 64);
	assert_int_equal(p->sites.at[0].own_peak_time_ns, 100);
	assert_int_equal(p->sites.at[0].lifetime_min_ns, UINT64_MAX);
	assert_int_equal(p->threads.at[0].allocations, 1);
	assert_int_equal(p->threads.at[0].live_bytes, 64);
	assert_int_equal(p->threads.at[1].allocations, 0);
	assert_int_equal(p->threads.at[1].size_min, UINT64_MAX);
	assert_int_equal(p->sizes[7].count, 1); /* 64 <= size < 128 */
	assert_int_equal(p->sizes[7].live_bytes, 64);
}

static void a_free_ends_the_block_and_records_its_life(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_alloc(&f->one, 200, B, 10, 1);
	producer_free(&f->one, 300, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.frees, 1);
	assert_int_equal(p->totals.freed_bytes, 64);
	assert_int_equal(p->totals.leaked_bytes, 10);
	assert_int_equal(p->totals.temporary_allocations, 0);
	assert_int_equal(p->sites.at[0].lifetime_min_ns, 200);
	assert_int_equal(p->sites.at[0].lifetime_max_ns, 200);
	assert_int_equal(p->sites.at[0].lifetime_sum_ns, 200);
	assert_int_equal(p->sites.at[0].size_min, 10);
	assert_int_equal(p->sites.at[0].size_max, 64);
	assert_int_equal(p->size_by_life[7][8], 1); /* 128 <= 200 < 256 */
	assert_int_equal(p->sizes[7].live_count, 0);
	assert_int_equal(p->sizes[4].live_count, 1);
}

static void a_size_of_more_than_32_bits_is_kept(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, UINT64_C(5) << 32, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.peak_bytes, UINT64_C(5) << 32);
	assert_int_equal(p->sites.at[0].size_max, UINT64_C(5) << 32);
}

static void a_block_of_0_bytes_is_a_block(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 0, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.leaked_blocks, 1);
	assert_int_equal(p->totals.peak_bytes, 0);
	assert_int_equal(p->sizes[0].count, 1);
	assert_int_equal(p->sites.at[0].size_min, 0);
}

static void a_free_by_another_thread_is_done_by_it_on_the_owners_block(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_free(&f->two, 150, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->threads.at[0].frees, 0);
	assert_int_equal(p->threads.at[1].frees, 1);
	assert_int_equal(p->threads.at[1].freed_bytes, 64);
	assert_int_equal(p->threads.at[0].live_blocks, 0);
	assert_int_equal(p->threads.at[0].lifetime_sum_ns, 50);
	assert_int_equal(p->threads.at[1].lifetime_min_ns, UINT64_MAX);
	assert_int_equal(p->totals.temporary_allocations, 0);
}

/* Blocks of two sites, a peak that is past; also what is read of them once more later. */
static void check_first_thread(const struct profile_thread *t)
{
	assert_int_equal(t->allocations, 3);
	assert_int_equal(t->allocated_bytes, 64 + 200 + 16);
	assert_int_equal(t->frees, 2);
	assert_int_equal(t->freed_bytes, 264);
	assert_int_equal(t->temporary, 1);
	assert_int_equal(t->live_blocks, 1);
	assert_int_equal(t->live_bytes, 16);
	assert_int_equal(t->own_peak_bytes, 264);
	assert_int_equal(t->own_peak_time_ns, 110);
	assert_int_equal(t->at_peak_bytes, 264);
	assert_int_equal(t->at_peak_blocks, 2);
	assert_int_equal(t->lifetime_min_ns, 10);
	assert_int_equal(t->lifetime_max_ns, 30);
	assert_int_equal(t->lifetime_sum_ns, 40);
	assert_int_equal(t->size_min, 16);
	assert_int_equal(t->size_max, 200);
}

static void the_only_thread_holds_everything_also_when_a_second_one_comes(void **state)
{
	struct fixture *f = *state;
	struct producer first;

	collect_free(f->c);
	f->c = producer_new_collector(0);
	first = producer_open(f->c, 1);
	producer_alloc(&first, 100, A, 64, 1);
	producer_alloc(&first, 110, B, 200, 2);
	producer_free(&first, 120, B);
	producer_free(&first, 130, A);
	producer_alloc(&first, 140, C, 16, 2);
	check_first_thread(&rig_finish(f)->threads.at[0]);

	f->two = producer_open(f->c, 2);
	producer_alloc(&f->two, 150, A, 8, 1);
	struct profile *p = rig_finish(f);
	check_first_thread(&p->threads.at[0]);
	assert_int_equal(p->threads.at[1].live_bytes, 8);
	assert_int_equal(p->threads.at[1].at_peak_bytes, 0);

	producer_free(&first, 160, C);
	p = rig_finish(f);
	assert_int_equal(p->threads.at[0].frees, 3);
	assert_int_equal(p->threads.at[0].live_bytes, 0);
	assert_int_equal(p->threads.at[0].at_peak_bytes, 264);
	assert_int_equal(p->threads.at[0].lifetime_sum_ns, 60);
}

static void a_free_of_an_unknown_address_is_foreign(void **state)
{
	struct fixture *f = *state;

	producer_free(&f->one, 100, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.foreign_frees, 1);
	assert_int_equal(p->totals.frees, 0);
	assert_int_equal(p->totals.lost_events, 0);
}

static void an_address_given_out_twice_means_that_a_free_was_missed(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_alloc(&f->one, 200, A, 32, 2);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.lost_events, 1);
	assert_int_equal(p->totals.allocations, 2);
	assert_int_equal(p->totals.frees, 1);
	assert_int_equal(p->totals.leaked_bytes, 32);
	assert_int_equal(p->totals.peak_bytes, 64);
	assert_int_equal(p->sites.at[0].live_blocks, 0);
	assert_int_equal(p->sites.at[1].live_bytes, 32);
}

/* ---- temporary ------------------------------------------------------------------------------- */

static void freed_before_the_thread_allocates_again_is_temporary(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_alloc(&f->two, 110, B, 64, 2); /* another thread's does not matter */
	producer_free(&f->one, 120, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.temporary_allocations, 1);
	assert_int_equal(p->sites.at[0].temporary, 1);
	assert_int_equal(p->sites.at[1].temporary, 0);
	assert_int_equal(p->threads.at[0].temporary, 1);
}

static void freed_after_another_allocation_is_not_temporary(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_alloc(&f->one, 110, B, 64, 1);
	producer_free(&f->one, 120, A);
	producer_free(&f->one, 130, B); /* the latest allocation still */
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.temporary_allocations, 1);
}

/* The address is the same, the block is not. */
static void anothers_block_at_the_same_address_is_not_temporary(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_free(&f->two, 110, A);
	producer_alloc(&f->two, 120, A, 64, 1);
	producer_free(&f->one, 130, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.temporary_allocations, 0);
	assert_int_equal(p->totals.frees, 2);
}

/* ---- realloc --------------------------------------------------------------------------------- */

static void a_realloc_swaps_sizes_at_one_instant(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_resized(&f->one, 210, B, 150, 2);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.allocations, 2);
	assert_int_equal(p->totals.frees, 1);
	assert_int_equal(p->totals.reallocations, 1);
	assert_int_equal(p->totals.peak_bytes, 150);
	assert_int_equal(p->totals.peak_blocks, 1);
	assert_int_equal(p->totals.peak_time_ns, 210);
	assert_int_equal(p->totals.leaked_bytes, 150);
	assert_int_equal(p->totals.temporary_allocations, 0);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 0);
	assert_int_equal(p->sites.at[0].lifetime_sum_ns, 110);
	assert_int_equal(p->sites.at[0].frees, 1);
	assert_int_equal(p->sites.at[0].reallocations, 0);
	assert_int_equal(p->sites.at[1].at_peak_bytes, 150);
	assert_int_equal(p->sites.at[1].reallocations, 1);
	assert_int_equal(p->threads.at[0].frees, 1);
	assert_int_equal(p->threads.at[0].own_peak_bytes, 150);
	assert_int_equal(p->totals.api_calls[SEGMENT_API_REALLOC], 1);
}

static void a_realloc_in_place_does_not_hold_both_sizes_at_its_site(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_resized(&f->one, 210, A, 60, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.peak_bytes, 100);
	assert_int_equal(p->totals.leaked_bytes, 60);
	assert_int_equal(p->sites.at[0].own_peak_bytes, 100);
	assert_int_equal(p->totals.lost_events, 0);
}

/* Once realloc has given the old address back, another thread may get it before the realloc is
 * reported. */
static void the_old_address_is_free_for_others_while_a_realloc_runs(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_alloc(&f->two, 205, A, 7, 2);
	producer_resized(&f->one, 210, B, 150, 1);
	producer_free(&f->two, 220, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.lost_events, 0);
	assert_int_equal(p->totals.foreign_frees, 0);
	assert_int_equal(p->totals.peak_bytes, 157);
	assert_int_equal(p->totals.leaked_bytes, 150);
	assert_int_equal(p->sites.at[1].lifetime_sum_ns, 15);
}

static void a_failed_realloc_leaves_the_block_as_it_was(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_resize_failed(&f->one, 210);
	producer_free(&f->one, 300, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.reallocations, 0);
	assert_int_equal(p->totals.frees, 1);
	assert_int_equal(p->totals.foreign_frees, 0);
	assert_int_equal(p->sites.at[0].lifetime_sum_ns, 200);
	assert_int_equal(p->totals.temporary_allocations, 1);
}

static void a_realloc_to_nothing_is_a_free(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_resize_freed(&f->one, 210);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.frees, 1);
	assert_int_equal(p->totals.reallocations, 0);
	assert_int_equal(p->totals.leaked_blocks, 0);
	assert_int_equal(p->totals.temporary_allocations, 1);
	assert_int_equal(p->threads.at[0].frees, 1);
}

static void a_realloc_of_an_unknown_block_is_foreign_and_an_allocation(void **state)
{
	struct fixture *f = *state;

	producer_resize(&f->one, 200, A);
	producer_resized(&f->one, 210, B, 150, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.foreign_frees, 1);
	assert_int_equal(p->totals.allocations, 1);
	assert_int_equal(p->totals.frees, 0);
	assert_int_equal(p->totals.reallocations, 1);
	assert_int_equal(p->totals.leaked_bytes, 150);
}

static void a_target_that_dies_inside_realloc_still_holds_the_old_block(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.leaked_bytes, 100);
	assert_int_equal(p->totals.leaked_blocks, 1);
	assert_int_equal(p->sites.at[0].live_bytes, 100);
	assert_int_equal(p->totals.frees, 0);
}

static void the_block_from_a_realloc_can_be_temporary(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 100, 1);
	producer_resize(&f->one, 200, A);
	producer_resized(&f->one, 210, B, 150, 2);
	producer_free(&f->one, 220, B);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.temporary_allocations, 1);
	assert_int_equal(p->sites.at[0].temporary, 0);
	assert_int_equal(p->sites.at[1].temporary, 1);
}

/* ---- the peak -------------------------------------------------------------------------------- */

static void the_peak_is_attributed_as_it_was_at_that_moment(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 50, 1);
	producer_alloc(&f->two, 110, B, 60, 2); /* peak: 110 bytes in 2 blocks */
	producer_free(&f->two, 120, A);
	producer_alloc(&f->one, 130, C, 40, 3); /* 100 only */
	producer_free(&f->one, 140, B);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.peak_bytes, 110);
	assert_int_equal(p->totals.peak_blocks, 2);
	assert_int_equal(p->totals.peak_time_ns, 110);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 50);
	assert_int_equal(p->sites.at[0].at_peak_blocks, 1);
	assert_int_equal(p->sites.at[1].at_peak_bytes, 60);
	assert_int_equal(p->sites.at[2].at_peak_bytes, 0);
	assert_int_equal(p->threads.at[0].at_peak_bytes, 50);
	assert_int_equal(p->threads.at[1].at_peak_bytes, 60);
}

static void an_equal_height_is_no_new_peak(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 50, 1);
	producer_free(&f->one, 110, A);
	producer_alloc(&f->one, 120, B, 50, 2);
	producer_free(&f->one, 130, B);
	producer_alloc(&f->one, 1500000, B, 50, 2); /* in the next span of the series */
	while (ticks_get_now(&f->c->clock) <= 1500000)
		continue;
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.allocations, 3);
	assert_int_equal(p->totals.peak_time_ns, 100);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 50);
	assert_int_equal(p->sites.at[1].at_peak_bytes, 0);
}

static void building_twice_gives_the_same_and_recording_goes_on(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 50, 1);
	assert_int_equal(rig_finish(f)->sites.at[0].at_peak_bytes, 50);
	assert_int_equal(rig_finish(f)->sites.at[0].at_peak_bytes, 50);
	producer_alloc(&f->one, 200, B, 25, 2);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->totals.peak_bytes, 75);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 50);
	assert_int_equal(p->sites.at[1].at_peak_bytes, 25);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(an_allocation_counts_everywhere),
		with_fixture(a_free_ends_the_block_and_records_its_life),
		with_fixture(a_size_of_more_than_32_bits_is_kept),
		with_fixture(a_block_of_0_bytes_is_a_block),
		with_fixture(a_free_by_another_thread_is_done_by_it_on_the_owners_block),
		with_fixture(the_only_thread_holds_everything_also_when_a_second_one_comes),
		with_fixture(a_free_of_an_unknown_address_is_foreign),
		with_fixture(an_address_given_out_twice_means_that_a_free_was_missed),
		with_fixture(freed_before_the_thread_allocates_again_is_temporary),
		with_fixture(freed_after_another_allocation_is_not_temporary),
		with_fixture(anothers_block_at_the_same_address_is_not_temporary),
		with_fixture(a_realloc_swaps_sizes_at_one_instant),
		with_fixture(a_realloc_in_place_does_not_hold_both_sizes_at_its_site),
		with_fixture(the_old_address_is_free_for_others_while_a_realloc_runs),
		with_fixture(a_failed_realloc_leaves_the_block_as_it_was),
		with_fixture(a_realloc_to_nothing_is_a_free),
		with_fixture(a_realloc_of_an_unknown_block_is_foreign_and_an_allocation),
		with_fixture(a_target_that_dies_inside_realloc_still_holds_the_old_block),
		with_fixture(the_block_from_a_realloc_can_be_temporary),
		with_fixture(the_peak_is_attributed_as_it_was_at_that_moment),
		with_fixture(an_equal_height_is_no_new_peak),
		with_fixture(building_twice_gives_the_same_and_recording_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
