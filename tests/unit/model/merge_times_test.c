/* merge_times_test.c -- time lines and snapshots of several profiles made one. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/merge_times.h"
#include "merging.h"

/* a: 100 live from 10 ms on, 0 from 30 ms on; b the same 15 ms later by the clock. */
static struct profile *make_run(uint64_t start_ns)
{
	struct profile *p = sample_new();

	sample_site(p, sample_node(p, 0, "main", 1), 100, 1);
	p->run.start_unix_ns = start_ns;
	p->run.duration_ns = 40 * MS;
	add_point(p, 10 * MS, 100);
	add_point(p, 30 * MS, 0);
	return p;
}

static void assert_line(const struct profile *p, const char *expected)
{
	char text[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < p->points.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%ju:%ju ",
					 (uintmax_t)(p->points.at[i].time_ns / MS),
					 (uintmax_t)p->points.at[i].live_bytes);
	for (size_t i = 0; i < p->changes.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "[%u %ju]",
					 p->changes.at[i].point,
					 (uintmax_t)p->changes.at[i].live_bytes);
	assert_string_equal(text, expected);
}

static void time_lines_are_put_together_by_the_clock(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		struct profile *early = make_run(1000 * MS), *late = make_run(1015 * MS);
		struct profile *p =
			merge(swap ? late : early, swap ? early : late, PROFILE_MERGE_SUM);
		assert_line(p, "10:100 25:200 30:100 45:0 [0 100][1 200][2 100][3 0]");
		assert_int_equal(p->run.start_unix_ns, 1000 * MS);
		assert_int_equal(p->run.duration_ns, 55 * MS);
		profile_free(p);
	}
}

static void time_lines_are_put_together_at_their_starts(void **state)
{
	const struct merge_options options = {.mode = PROFILE_MERGE_MEAN, .align_starts = true};
	struct profile *runs[2] = {make_run(1000 * MS), make_run(9000 * MS)};
	struct merge *m = merge_new(&options);
	struct error e = {0};

	(void)state;
	merge_add(m, runs[0], "one");
	merge_add(m, runs[1], "two");
	struct profile *p = merge_finish(m, &e);
	assert_non_null(p);
	assert_line(p, "10:100 30:0 [0 100][1 0]");
	assert_int_equal(p->run.duration_ns, 40 * MS);
	profile_free(p);
	profile_free(runs[0]);
	profile_free(runs[1]);
}

static void a_long_time_line_gets_fewer_points_and_keeps_the_last(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();

	(void)state;
	sample_site(a, sample_node(a, 0, "main", 1), 100, 1);
	sample_site(b, sample_node(b, 0, "main", 1), 100, 1);
	for (uint64_t i = 1; i <= 400; i++) {
		add_point(a, 10 * i * MS, i);
		add_point(b, (10 * i + 1) * MS, 2 * i);
	}
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_true(p->points.count <= MERGE_TIMES_POINTS);
	assert_true(p->points.count > MERGE_TIMES_POINTS / 4);
	const struct profile_point *last = &p->points.at[p->points.count - 1];
	assert_int_equal(last->time_ns, 4001 * MS);
	assert_int_equal(last->live_bytes, 400 + 800);
	assert_int_equal(p->changes.at[p->changes.count - 1].live_bytes, 1200);
	profile_free(p);
}

static void add_snapshot(struct profile *p, const char *name, uint32_t point)
{
	struct string_id id = profile_add_string(p, name);

	*vec_push(&p->snapshots) = (struct profile_snapshot){
		.name = id,
		.point = point,
		.thread = 1,
		.time_ns = p->points.at[point].time_ns,
		.live_bytes = p->points.at[point].live_bytes,
		.live_blocks = 1,
	};
}

static void assert_snapshot(const struct profile *p, size_t i, const char *name, uint64_t time_ms)
{
	const struct profile_snapshot *s = &p->snapshots.at[i];

	assert_true(i < p->snapshots.count);
	assert_string_equal(profile_string(p, s->name), name);
	assert_int_equal(s->time_ns, time_ms * MS);
	assert_int_equal(p->points.at[s->point].time_ns, s->time_ns);
	assert_int_equal(p->points.at[s->point].live_bytes, s->live_bytes);
}

static void snapshots_have_what_all_had_at_their_moment(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		struct profile *early = make_run(1000 * MS), *late = make_run(1015 * MS);
		add_thread(early, 10, 100);
		add_thread(late, 20, 100);
		add_snapshot(early, "loaded", 1);
		add_snapshot(late, "", 0);
		struct profile *p =
			merge(swap ? late : early, swap ? early : late, PROFILE_MERGE_SUM);
		assert_int_equal(p->snapshots.count, 2);
		assert_snapshot(p, 0, swap ? "(a.mdn)" : "(b.mdn)", 25);
		assert_snapshot(p, 1, swap ? "loaded (b.mdn)" : "loaded (a.mdn)", 30);
		assert_int_equal(p->snapshots.at[0].live_bytes, 200);
		assert_int_equal(p->snapshots.at[0].thread, swap ? 1 : 2);
		p = merge(p, sample_new(), PROFILE_MERGE_SUM); /* once named, so called */
		assert_snapshot(p, 1, swap ? "loaded (b.mdn)" : "loaded (a.mdn)", 30);
		profile_free(p);
	}
}

static void snapshots_of_one_moment_stay_two_and_are_means(void **state)
{
	struct profile *a = make_run(0), *b = make_run(0);

	(void)state;
	add_snapshot(a, "x", 0);
	add_snapshot(b, "x", 0);
	b->points.at[0].live_bytes = b->changes.at[0].live_bytes = 300;
	struct profile *p = merge(a, b, PROFILE_MERGE_MEAN);
	assert_snapshot(p, 0, "x (a.mdn)", 10);
	assert_snapshot(p, 1, "x (b.mdn)", 10);
	assert_int_equal(p->snapshots.at[1].live_bytes, 200);
	profile_free(p);
}

static void snapshots_stay_when_points_get_fewer_and_too_many_are_counted(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();

	(void)state;
	sample_site(a, sample_node(a, 0, "main", 1), 100, 1);
	sample_site(b, sample_node(b, 0, "main", 1), 100, 1);
	for (uint32_t i = 0; i < 3000; i++) {
		add_point(a, 10 * i * MS, i);
		add_point(b, (10 * i + 1) * MS, i);
		if (i < 2999)
			add_snapshot(a, "a", i);
		add_snapshot(b, "b", i);
	}
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(p->snapshots.count, MERGE_TIMES_SNAPSHOTS);
	assert_int_equal(p->totals.lost_snapshots, 2999 + 3000 - MERGE_TIMES_SNAPSHOTS);
	assert_true(p->points.count > MERGE_TIMES_SNAPSHOTS);
	assert_true(p->points.count <= MERGE_TIMES_SNAPSHOTS + MERGE_TIMES_POINTS);
	assert_int_equal(p->points.at[p->points.count - 1].time_ns, 29991 * MS);
	profile_free(p);
}

/* One holds 1000 bytes at some time in between, the other 500 until 50 ms. */
static void between_points_the_most_is_never_too_little(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();
	uint64_t most = 0;

	(void)state;
	sample_site(a, sample_node(a, 0, "main", 1), 100, 1);
	sample_site(b, sample_node(b, 0, "main", 1), 100, 1);
	add_point(a, 1 * MS, 0);
	add_point(a, 100 * MS, 0);
	a->points.at[1].peak_bytes = 1000;
	add_point(b, 10 * MS, 500);
	add_point(b, 50 * MS, 0);
	b->points.at[1].peak_bytes = 500;
	add_point(b, 90 * MS, 0);
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	for (size_t i = 0; i < p->points.count; i++)
		most = p->points.at[i].peak_bytes > most ? p->points.at[i].peak_bytes : most;
	assert_int_equal(most, 1500);
	assert_int_equal(p->totals.peak_time_ns, 10 * MS);
	profile_free(p);
}

static void what_had_not_begun_or_is_over_holds_nothing_more(void **state)
{
	struct profile *early = make_run(1000 * MS), *late = make_run(9000 * MS);
	uint64_t most = 0;

	(void)state;
	struct profile *p = merge(early, late, PROFILE_MERGE_SUM);
	for (size_t i = 0; i < p->points.count; i++)
		most = p->points.at[i].peak_bytes > most ? p->points.at[i].peak_bytes : most;
	assert_int_equal(most, 100);
	profile_free(p);
}

static void a_hostile_start_does_not_turn_time_round(void **state)
{
	struct profile *p = merge(make_run(1), make_run(UINT64_MAX), PROFILE_MERGE_SUM);

	(void)state;
	assert_true(p->points.count > 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_lines_are_put_together_by_the_clock),
		cmocka_unit_test(time_lines_are_put_together_at_their_starts),
		cmocka_unit_test(a_long_time_line_gets_fewer_points_and_keeps_the_last),
		cmocka_unit_test(snapshots_have_what_all_had_at_their_moment),
		cmocka_unit_test(snapshots_of_one_moment_stay_two_and_are_means),
		cmocka_unit_test(snapshots_stay_when_points_get_fewer_and_too_many_are_counted),
		cmocka_unit_test(between_points_the_most_is_never_too_little),
		cmocka_unit_test(what_had_not_begun_or_is_over_holds_nothing_more),
		cmocka_unit_test(a_hostile_start_does_not_turn_time_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
