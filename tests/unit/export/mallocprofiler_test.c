/* mallocprofiler_test.c -- MallocProfiler's dump. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void skip_lines(char **text, unsigned count)
{
	while (count-- > 0) {
		*text = strchr(*text, '\n');
		assert_non_null(*text);
		++*text;
	}
}

static void each_stack_has_its_four_figures(void **state)
{
	struct profile *p = sample_new();
	struct profile_site *site = sample_site(
		p, sample_node(p, sample_node(p, 0, "main", 1), "f", 2), UINT64_C(12345678901), 7);

	(void)state;
	site->live_bytes = 20;
	site->own_peak_bytes = 30;
	struct exported x = exported_make("mallocprofiler", p, FIGURE_PEAK);
	char *text = x.text;
	skip_lines(&text, 3);
	assert_string_equal(text, "_mpTrace_;main;f $7$12345678901$20$30\n");
	free(x.text);
}

static void the_head_has_summary_and_histograms(void **state)
{
	struct profile *p = sample_tables();

	(void)state;
	p->totals.leaked_bytes = 5;
	p->sizes[0].count = 2;
	p->sizes[63].count = 3;
	p->sizes[7].live_count = 4;
	struct exported x = exported_make("mallocprofiler", p, FIGURE_PEAK);
	char *text = x.text;
	assert_memory_equal(text, "MemStat Global Summary for 42/1: 10 1000 5 1000\n", 48);
	skip_lines(&text, 1);
	assert_memory_equal(text, "MemTot Global Hist for 42/1: 2,0,0,", 35);
	skip_lines(&text, 1);
	assert_memory_equal(text - 5, "0,3,\n", 5);
	assert_memory_equal(text, "MemLive Global Hist for 42/1: 0,0,0,0,0,0,0,4,0,", 48);
	free(x.text);
}

static void separators_in_names_are_harmless(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "a;b$_0\nc", 1), 8, 1);
	struct exported x = exported_make("mallocprofiler", p, FIGURE_PEAK);
	char *text = x.text;
	skip_lines(&text, 3);
	assert_string_equal(text, "_mpTrace_;a:b__0 c $1$8$8$8\n");
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_has_its_four_figures),
		cmocka_unit_test(the_head_has_summary_and_histograms),
		cmocka_unit_test(separators_in_names_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
