/* parts_test.c -- which thread allocated how much at which stack, exactly. Runs: as a test program.
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
	rig_add_nodes(&f);
	return 0;
}

#define SUM_EQUALS(p, index, member)                                  \
	do {                                                          \
		uint64_t sum = 0;                                     \
		for (size_t i = 0; i < (p)->parts.count; i++)         \
			if ((p)->parts.at[i].site == (index))         \
				sum += (p)->parts.at[i].member;       \
		assert_int_equal(sum, (p)->sites.at[(index)].member); \
	} while (0)

static void assert_parts_add_up(const struct profile *p, uint32_t site)
{
	SUM_EQUALS(p, site, allocations);
	SUM_EQUALS(p, site, allocated_bytes);
	SUM_EQUALS(p, site, frees);
	SUM_EQUALS(p, site, freed_bytes);
	SUM_EQUALS(p, site, live_blocks);
	SUM_EQUALS(p, site, live_bytes);
	SUM_EQUALS(p, site, at_peak_blocks);
	SUM_EQUALS(p, site, at_peak_bytes);
	SUM_EQUALS(p, site, temporary);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void a_site_of_one_thread_names_it_and_has_no_parts(void **state)
{
	struct fixture *f = *state;
	struct producer one = producer_open(f->c, 1), two = producer_open(f->c, 2);

	producer_alloc(&one, 100, A, 64, 1);
	producer_alloc(&two, 200, B, 10, 2);
	producer_free(&one, 300, B); /* a free is no allocation */
	struct profile *p = rig_finish(f);

	assert_int_equal(p->parts.count, 0);
	assert_int_equal(p->sites.at[0].thread, 1);
	assert_int_equal(p->sites.at[1].thread, 2);
}

static void what_a_site_held_before_it_was_shared_is_the_first_threads(void **state)
{
	struct fixture *f = *state;
	struct producer one = producer_open(f->c, 1), two = producer_open(f->c, 2);

	producer_alloc(&one, 100, A, 64, 1);
	producer_free(&one, 110, A); /* temporary */
	producer_alloc(&one, 120, A, 100, 1);
	producer_alloc(&two, 200, B, 10, 1);
	producer_free(&two, 210, A);
	producer_free(&two, 220, B);
	producer_alloc(&two, 230, C, 5, 1);
	producer_free(&two, 240, C); /* temporary */
	struct profile *p = rig_finish(f);
	const struct profile_part *first = &p->parts.at[0], *second = &p->parts.at[1];

	assert_int_equal(p->parts.count, 2);
	assert_int_equal(p->sites.at[0].thread, 0);
	assert_int_equal(first->thread, 1);
	assert_int_equal(first->allocations, 2);
	assert_int_equal(first->allocated_bytes, 164);
	assert_int_equal(first->frees, 2);
	assert_int_equal(first->live_bytes, 0);
	assert_int_equal(first->at_peak_bytes, 100);
	assert_int_equal(first->at_peak_blocks, 1);
	assert_int_equal(first->temporary, 1);
	assert_int_equal(second->thread, 2);
	assert_int_equal(second->allocations, 2);
	assert_int_equal(second->at_peak_bytes, 10);
	assert_int_equal(second->temporary, 2);
	assert_parts_add_up(p, 0);
}

static void a_realloc_by_another_thread_moves_the_block_into_its_share(void **state)
{
	struct fixture *f = *state;
	struct producer one = producer_open(f->c, 1), two = producer_open(f->c, 2);

	producer_alloc(&one, 100, A, 64, 1);
	producer_resize(&two, 200, A);
	producer_resized(&two, 210, B, 128, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->parts.count, 2);
	assert_int_equal(p->parts.at[0].live_bytes, 0);
	assert_int_equal(p->parts.at[1].live_bytes, 128);
	assert_int_equal(p->parts.at[1].at_peak_bytes, 128);
	assert_parts_add_up(p, 0);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void threads_beyond_the_limit_share_a_part_and_the_sums_stay_right(void **state)
{
	struct fixture *f = *state;
	struct producer by[6];

	f->c->account.parts.most = 3;
	for (uint32_t i = 0; i < 6; i++)
		by[i] = producer_open(f->c, i + 1);
	for (uint64_t i = 0; i < 60; i++)
		producer_alloc(&by[i % 6], 100 + i, A + i * 64, 10 + i, 1 + (uint32_t)(i / 30));
	for (uint64_t i = 0; i < 60; i += 2)
		producer_free(&by[(i + 1) % 6], 300 + i, A + i * 64);
	struct profile *p = rig_finish(f);

	/* Site 0: threads 1, 2 and 3, then all further ones; site 1: its first and all further. */
	assert_int_equal(p->parts.count, 6);
	assert_int_equal(p->parts.at[0].thread, 0);
	assert_int_equal(p->parts.at[0].allocations, 15);
	assert_int_equal(p->parts.at[3].thread, 3);
	assert_int_equal(p->parts.at[4].thread, 0);
	assert_int_equal(p->parts.at[5].thread, 1);
	assert_parts_add_up(p, 0);
	assert_parts_add_up(p, 1);
}

static void thousands_of_threads_at_one_site_each_have_their_part(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i <= 3000; i++) {
		struct producer by = producer_open(f->c, i);

		producer_alloc(&by, 100 + i, A + i * 64, i, 1);
		producer_end(&by, 100 + i);
		if (i % 100 == 0)
			producer_drain(f->c);
	}
	struct profile *p = rig_finish(f);

	assert_int_equal(p->parts.count, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		assert_int_equal(p->parts.at[i].thread, i + 1);
		assert_int_equal(p->parts.at[i].live_bytes, i + 1);
	}
	assert_parts_add_up(p, 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_site_of_one_thread_names_it_and_has_no_parts),
		WITH(what_a_site_held_before_it_was_shared_is_the_first_threads),
		WITH(a_realloc_by_another_thread_moves_the_block_into_its_share),
		WITH(threads_beyond_the_limit_share_a_part_and_the_sums_stay_right),
		WITH(thousands_of_threads_at_one_site_each_have_their_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
