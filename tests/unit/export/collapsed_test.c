/* collapsed_test.c -- stacks on one line each. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void stacks_go_from_root_to_leaf_and_lines_of_a_function_are_one(void **state)
{
	(void)state;
	exported_assert("collapsed", sample_tables(), FIGURE_PEAK,
			"main;load;table_new 700\n"
			"main;save 50\n"
			"main;save;table_new 250\n");
}

static void a_count_is_of_blocks(void **state)
{
	(void)state;
	exported_assert("collapsed", sample_tables(), FIGURE_CALLS,
			"main;load;table_new 7\n"
			"main;save 1\n"
			"main;save;table_new 2\n");
}

static void given_nothing_to_count_then_there_is_no_line(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	exported_assert("collapsed", sample_tables(), FIGURE_TEMPORARY, "");
	exported_assert("collapsed", sample_new(), FIGURE_PEAK, "");
	sample_site(p, sample_node(p, 0, "zero_bytes", 1), 0, 3);
	exported_assert("collapsed", p, FIGURE_PEAK, "");
}

static void separators_in_names_are_harmless(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "a;b\nc\td", 1);
	uint32_t middle = sample_node(p, root, "f 12", 1);

	(void)state;
	sample_site(p, sample_node(p, middle, "\xff\xc3\xa9 g 1.5", 1), 8, 1);
	exported_assert("collapsed", p, FIGURE_PEAK, "a:b c d;f_12;\xef\xbf\xbd\xc3\xa9 g_1.5 8\n");
}

static void frames_without_a_name_have_their_module_and_address(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node_in(p, 0, 1, 0);
	uint32_t cut = sample_node(p, root, "", 0);

	(void)state;
	p->nodes.at[cut].cut = true;
	sample_site(p, sample_node_in(p, cut, 0, 0), 8, 1);
	sample_site(p, 0, 4, 1);
	exported_assert("collapsed", p, FIGURE_PEAK,
			"app+0x10;[frames left out];0x400030 8\n"
			"[no stack] 4\n");
}

static void figures_of_64_bits_stay_exact(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "big", 1), UINT64_C(9007199254740993), 1);
	exported_assert("collapsed", p, FIGURE_PEAK, "big 9007199254740993\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_go_from_root_to_leaf_and_lines_of_a_function_are_one),
		cmocka_unit_test(a_count_is_of_blocks),
		cmocka_unit_test(given_nothing_to_count_then_there_is_no_line),
		cmocka_unit_test(separators_in_names_are_harmless),
		cmocka_unit_test(frames_without_a_name_have_their_module_and_address),
		cmocka_unit_test(figures_of_64_bits_stay_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
