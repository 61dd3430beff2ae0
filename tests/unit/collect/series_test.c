/* series_test.c -- points over time, their halving, and the changes of sites. Runs: as a test
 * program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "producer.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct series series;
	struct sites sites;
	struct peak peak;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	series_init(&f.series, 1000);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	series_fini(&f->series);
	sites_fini(&f->sites);
	return 0;
}

/* The site of `node` gets so many bytes more. */
static void grow_site(struct fixture *f, uint32_t node, uint64_t bytes)
{
	uint32_t index = sites_reserve(&f->sites, node, 0);

	holding_add(&sites_touch(&f->sites, index)->held, &f->peak, bytes, 0);
}

static void shrink_site(struct fixture *f, uint32_t node, uint64_t bytes)
{
	uint32_t index = sites_reserve(&f->sites, node, 0);

	holding_remove(&sites_touch(&f->sites, index)->held, &f->peak, bytes, 0);
}

static void add_point(struct fixture *f, uint64_t ticks, uint64_t live, uint64_t peak)
{
	struct profile_point point = {.time_ns = ticks, .live_bytes = live, .peak_bytes = peak};

	series_add(&f->series, &point, &f->sites);
}

static struct profile *build(struct fixture *f, uint64_t ticks)
{
	struct profile *p = profile_new();
	struct profile_point last = {.time_ns = ticks};

	series_build(&f->series, &last, &f->sites, p);
	return p;
}

static void a_point_names_the_sites_that_changed_before_it(void **state)
{
	struct fixture *f = *state;

	grow_site(f, 7, 10);
	grow_site(f, 3, 20);
	add_point(f, 1000, 30, 30);
	grow_site(f, 3, 5);
	add_point(f, 2000, 35, 35);
	struct profile *p = build(f, 2500);

	assert_int_equal(p->points.count, 3);
	assert_int_equal(p->changes.count, 3);
	assert_int_equal(p->changes.at[0].site, 0);
	assert_int_equal(p->changes.at[0].live_bytes, 10);
	assert_int_equal(p->changes.at[1].site, 1);
	assert_int_equal(p->changes.at[1].live_bytes, 20);
	assert_int_equal(p->changes.at[1].live_blocks, 1);
	assert_int_equal(p->changes.at[2].point, 1);
	assert_int_equal(p->changes.at[2].live_bytes, 25);
	profile_free(p);
}

static void a_site_that_is_back_where_it_was_is_not_named(void **state)
{
	struct fixture *f = *state;

	grow_site(f, 1, 10);
	add_point(f, 1000, 10, 10);
	grow_site(f, 1, 99);
	shrink_site(f, 1, 99);
	add_point(f, 2000, 10, 109);
	assert_int_equal(f->series.changes.count, 1);
}

static void the_end_is_a_point_too_and_building_changes_nothing(void **state)
{
	struct fixture *f = *state;

	grow_site(f, 1, 10);
	for (int i = 0; i < 2; i++) {
		struct profile *p = build(f, 700);

		assert_int_equal(p->points.count, 1);
		assert_int_equal(p->points.at[0].time_ns, 700);
		assert_int_equal(p->changes.count, 1);
		assert_int_equal(p->changes.at[0].point, 0);
		profile_free(p);
	}
	assert_int_equal(f->sites.changed.count, 1);
}

static void full_points_are_joined_in_pairs_of_which_the_later_holds(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 1; i < SERIES_POINTS_MAX; i++)
		add_point(f, i * 1000, i, i == 5 ? 5000 : i);
	assert_int_equal(f->series.points.count, SERIES_POINTS_MAX / 2);
	assert_int_equal(f->series.interval, 2000);
	assert_int_equal(f->series.points.at[0].time_ns, 2000);
	assert_int_equal(f->series.points.at[0].live_bytes, 2);
	assert_int_equal(f->series.points.at[2].time_ns, 6000);
	assert_int_equal(f->series.points.at[2].peak_bytes, 5000);
	assert_int_equal(f->series.points.at[SERIES_POINTS_MAX / 2 - 1].time_ns, 511000);
	assert_int_equal(f->series.next, 512000);
}

static void of_the_changes_in_a_pair_the_later_holds(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 1; i < SERIES_POINTS_MAX; i++) {
		if (i == 1 || i == 2 || i == 3)
			grow_site(f, 1, 10);
		if (i == 1)
			grow_site(f, 2, 7);
		add_point(f, i * 1000, 0, 0);
	}
	/* Site 0 at points 0, 1, 2 and site 1 at point 0 become 0 and 1, and 0. */
	struct profile *p = build(f, 600000);
	assert_int_equal(p->changes.count, 3);
	assert_int_equal(p->changes.at[0].point, 0);
	assert_int_equal(p->changes.at[0].site, 0);
	assert_int_equal(p->changes.at[0].live_bytes, 20);
	assert_int_equal(p->changes.at[1].site, 1);
	assert_int_equal(p->changes.at[1].live_bytes, 7);
	assert_int_equal(p->changes.at[2].point, 1);
	assert_int_equal(p->changes.at[2].live_bytes, 30);
	profile_free(p);
}

static void too_many_changes_halve_the_points_as_well(void **state)
{
	struct fixture *f = *state;

	f->series.changes_max = 1000;
	for (uint64_t i = 1; i < 200; i++) {
		for (uint32_t node = 1; node <= 100; node++)
			grow_site(f, node, i);
		add_point(f, i * 1000, 0, 0);
		assert_true(f->series.changes.count <= 1100);
	}
	assert_true(f->series.points.count < 20);
	for (size_t i = 0; i < f->series.changes.count; i++)
		assert_true(f->series.changes.at[i].point < f->series.points.count);
}

static void more_sites_than_the_limit_do_not_loop_for_ever(void **state)
{
	struct fixture *f = *state;

	f->series.changes_max = 10;
	for (uint32_t node = 1; node <= 100; node++)
		grow_site(f, node, 1);
	add_point(f, 1000, 0, 0);
	assert_int_equal(f->series.points.count, 1);
	assert_int_equal(f->series.changes.count, 100);
}

/* ---- through the collector ------------------------------------------------------------------- */

static void events_make_points_at_multiples_of_the_interval(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer one = producer_open(c, 1);

	(void)state;
	producer_alloc(&one, MS / 2, 0x1000, 100, 1);
	producer_alloc(&one, MS * 3 / 4, 0x2000, 900, 1);
	producer_free(&one, MS * 9 / 10, 0x2000);
	producer_alloc(&one, MS * 5 / 4, 0x2000, 10, 2); /* crosses 1 ms */
	producer_alloc(&one, MS * 21 / 4, 0x3000, 20,
		       2); /* crosses 2 ms and, after a pause, 5 ms */
	while (ticks_get_now(&c->clock) < 6 * MS)
		continue;
	collect_drain(c);
	struct profile *p = collect_build_profile(c);

	assert_true(p->points.count >= 4);
	assert_int_equal(p->points.at[0].time_ns, MS);
	assert_int_equal(p->points.at[0].live_bytes, 100);
	assert_int_equal(p->points.at[0].peak_bytes, 1000);
	assert_int_equal(p->points.at[0].allocations, 2);
	assert_int_equal(p->points.at[0].frees, 1);
	assert_int_equal(p->points.at[1].time_ns, 2 * MS);
	assert_int_equal(p->points.at[1].live_bytes, 110);
	assert_int_equal(p->points.at[1].peak_bytes, 110);
	assert_int_equal(p->points.at[2].time_ns, 5 * MS);
	assert_int_equal(p->points.at[2].live_bytes, 110);
	assert_int_equal(p->points.at[3].live_bytes, 130);
	assert_int_equal(p->points.at[p->points.count - 1].live_bytes, 130);
	assert_int_equal(p->points.at[p->points.count - 1].time_ns, p->run.duration_ns);
	profile_free(p);
	collect_free(c);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_point_names_the_sites_that_changed_before_it),
		with_fixture(a_site_that_is_back_where_it_was_is_not_named),
		with_fixture(the_end_is_a_point_too_and_building_changes_nothing),
		with_fixture(full_points_are_joined_in_pairs_of_which_the_later_holds),
		with_fixture(of_the_changes_in_a_pair_the_later_holds),
		with_fixture(too_many_changes_halve_the_points_as_well),
		with_fixture(more_sites_than_the_limit_do_not_loop_for_ever),
		cmocka_unit_test(events_make_points_at_multiples_of_the_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
