/* flat_test.c -- functions with what they and theirs allocated. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/flat.h"
#include "sample.h"

static const struct model_options usual = {0};

/* Rows as "function self/total", then frees everything. */
static void assert_flat(struct profile *p, enum figure figure, const char *expected)
{
	struct model *m = model_new(p, &usual);
	struct flat *f = flat_build(m, figure);
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < f->rows.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %ju/%ju",
					 i ? ", " : "",
					 model_get_frame(m, f->rows.at[i].frame)->function,
					 (uintmax_t)figure_get_value(f->rows.at[i].self, figure),
					 (uintmax_t)figure_get_value(f->rows.at[i].total, figure));
	flat_free(f);
	model_free(m);
	profile_free(p);
	assert_string_equal(text, expected);
}

static void lines_of_one_function_are_one_row(void **state)
{
	(void)state;
	assert_flat(sample_tables(), FIGURE_PEAK,
		    "table_new 950/950, save 50/300, main 0/1000, load 0/700");
}

static void given_recursion_then_a_function_counts_once_per_stack(void **state)
{
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		node = sample_node(p, node, "fib", 5 + i);
	sample_site(p, node, 10, 1);
	assert_flat(p, FIGURE_PEAK, "fib 10/10, main 0/10");
}

static void calls_are_ordered_by_number(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "big", 1), 1000, 1);
	sample_site(p, sample_node(p, 0, "often", 1), 10, 10);
	assert_flat(p, FIGURE_CALLS, "often 10/10, big 1/1");
}

/* Instances of a template share their lines. */
static void a_line_is_named_by_the_function_that_has_most_of_it(void **state)
{
	struct profile *p = sample_new();
	struct model *m;
	struct flat *f;

	(void)state;
	sample_site(p, sample_node(p, 0, "allocate<char>", 7), 10, 1);
	sample_site(p, sample_node(p, 0, "allocate<int>", 7), 600, 1);
	sample_site(p, sample_node(p, 0, "allocate<long>", 7), 390, 9);
	m = model_new(p, &usual);
	f = flat_build_of(m, FIGURE_PEAK, FLAT_BY_LINE, NULL);
	assert_int_equal(f->rows.count, 1);
	assert_int_equal(f->rows.at[0].self.bytes, 1000);
	assert_string_equal(model_get_frame(m, f->rows.at[0].frame)->function, "allocate<int>");
	flat_free(f);
	f = flat_build_of(m, FIGURE_CALLS, FLAT_BY_LINE, NULL);
	assert_string_equal(model_get_frame(m, f->rows.at[0].frame)->function, "allocate<long>");
	flat_free(f);
	model_free(m);
	profile_free(p);
}

static void an_empty_profile_has_no_rows(void **state)
{
	(void)state;
	assert_flat(profile_new(), FIGURE_PEAK, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_one_function_are_one_row),
		cmocka_unit_test(given_recursion_then_a_function_counts_once_per_stack),
		cmocka_unit_test(calls_are_ordered_by_number),
		cmocka_unit_test(a_line_is_named_by_the_function_that_has_most_of_it),
		cmocka_unit_test(an_empty_profile_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
