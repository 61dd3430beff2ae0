/* tables_test.c -- threads, lifetimes, the time line, and tables by line and module. Runs: as a
 * unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "model/by_thread.h"
#include "model/flat.h"
#include "model/lifetime.h"
#include "model/timeline.h"
#include "sample.h"

static const struct model_options usual = {0};

static void given_a_number_used_twice_then_each_thread_has_its_row(void **state)
{
	struct profile *p = sample_new();
	struct by_thread b;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		*vec_push(&p->threads) = (struct profile_thread){.tid = 77,
								 .serial = i + 1,
								 .at_peak_bytes = 10 * (i % 2 + 1),
								 .at_peak_blocks = 1};
	by_thread_build(&b, p, FIGURE_PEAK, NULL, NULL);
	assert_int_equal(b.rows.count, 3);
	assert_int_equal(b.rows.at[0].thread->serial, 2);
	assert_int_equal(b.rows.at[1].thread->serial, 1);
	assert_int_equal(b.whole.bytes, 40);
	assert_int_equal(b.kept.bytes, 40);
	assert_false(by_thread_is_possible(FIGURE_LIVE));
	vec_free(&b.rows);
	profile_free(p);
}

/* A site with freed blocks of a mean lifetime. */
static void add_lived(struct profile *p, const char *function, uint64_t freed, uint64_t mean)
{
	struct profile_site *s = sample_site(p, sample_node(p, 0, function, 1), 10 * freed, freed);

	s->frees = freed;
	s->freed_bytes = 10 * freed;
	s->live_blocks = s->live_bytes = 0;
	s->lifetime_sum_ns = freed * mean;
	s->lifetime_min_ns = mean / 2;
	s->lifetime_max_ns = mean * 2;
}

static void lifetimes_are_ordered_by_their_mean(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	add_lived(p, "short", 100, 10);
	add_lived(p, "long", 1, 1000);
	add_lived(p, "long", 1, 3000);
	sample_site(p, sample_node(p, 0, "never", 1), 10, 1);
	struct model *m = model_new(p, &usual);
	struct lifetimes *l = lifetime_build(m, FLAT_BY_FUNCTION, NULL, false);
	assert_int_equal(l->rows.count, 2);
	assert_string_equal(model_get_frame(m, l->rows.at[0].frame)->function, "long");
	assert_int_equal(lifetime_get_mean(&l->rows.at[0]), 2000);
	assert_int_equal(l->rows.at[0].min_ns, 500);
	assert_int_equal(l->rows.at[0].max_ns, 6000);
	assert_int_equal(l->whole.freed, 102);
	assert_int_equal(l->never_freed, 1);
	lifetime_free(l);
	l = lifetime_build(m, FLAT_BY_FUNCTION, NULL, true);
	assert_string_equal(model_get_frame(m, l->rows.at[0].frame)->function, "short");
	lifetime_free(l);
	model_free(m);
	profile_free(p);
}

/* Instances of a template share their lines. */
static void a_line_of_lifetimes_is_named_by_the_function_that_has_most(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	add_lived(p, "allocate<char>", 1, 10);
	add_lived(p, "allocate<int>", 100, 10);
	add_lived(p, "allocate<long>", 10, 10);
	struct model *m = model_new(p, &usual);
	struct lifetimes *l = lifetime_build(m, FLAT_BY_LINE, NULL, false);
	assert_int_equal(l->rows.count, 1);
	assert_int_equal(l->rows.at[0].freed, 111);
	assert_string_equal(model_get_frame(m, l->rows.at[0].frame)->function, "allocate<int>");
	lifetime_free(l);
	model_free(m);
	profile_free(p);
}

static void the_time_line_of_some_stacks_is_their_sum(void **state)
{
	static const struct profile_change changes[] = {
		{0, 0, 10, 1}, {0, 1, 5, 1}, {2, 0, 3, 1}, {2, 1, 50, 1}};
	uint8_t verdicts[2] = {FILTER_KEPT, FILTER_FUNCTION};
	struct profile *p = sample_tables();
	struct timeline t;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		*vec_push(&p->points) =
			(struct profile_point){.time_ns = i, .live_bytes = 100, .peak_bytes = 200};
	for (unsigned i = 0; i < 4; i++)
		*vec_push(&p->changes) = changes[i];
	timeline_build(&t, p, verdicts);
	assert_int_equal(t.points.count, 3);
	assert_int_equal(t.points.at[1].live.bytes, 10);
	assert_int_equal(t.points.at[2].live.bytes, 3);
	assert_int_equal(t.highest.highest_bytes, 10);
	vec_free(&t.points);
	timeline_build(&t, p, NULL);
	assert_int_equal(t.highest.highest_bytes, 200);
	vec_free(&t.points);
	profile_free(p);
}

static void rows_are_by_line_or_by_module(void **state)
{
	struct profile *p = sample_tables();
	uint32_t lib = sample_module(p, "/lib/x.so");

	(void)state;
	/* The same line in another function: a header, say. */
	sample_site(p, sample_node_in(p, 0, lib, sample_frame(p, "other", "/src/app.c", 30, 0)), 40,
		    1);
	struct model *m = model_new(p, &usual);
	struct flat *lines = flat_build_of(m, FIGURE_PEAK, FLAT_BY_LINE, NULL);
	assert_int_equal(model_get_frame(m, lines->rows.at[0].frame)->line, 30);
	assert_int_equal(lines->rows.at[0].self.bytes, 990);
	assert_int_equal(lines->rows.count, 6);
	flat_free(lines);
	struct flat *modules = flat_build_of(m, FIGURE_PEAK, FLAT_BY_MODULE, NULL);
	assert_int_equal(modules->rows.count, 2);
	assert_int_equal(modules->rows.at[0].self.bytes, 1000);
	assert_int_equal(modules->rows.at[0].total.bytes, 1000);
	assert_int_equal(modules->rows.at[1].self.bytes, 40);
	flat_free(modules);
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_number_used_twice_then_each_thread_has_its_row),
		cmocka_unit_test(lifetimes_are_ordered_by_their_mean),
		cmocka_unit_test(a_line_of_lifetimes_is_named_by_the_function_that_has_most),
		cmocka_unit_test(the_time_line_of_some_stacks_is_their_sum),
		cmocka_unit_test(rows_are_by_line_or_by_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
