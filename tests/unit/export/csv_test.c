/* csv_test.c -- a table with one row per stack. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

#define HEAD                                                                \
	"allocations,allocated_bytes,frees,freed_bytes,size_min,size_max,"  \
	"leaked_blocks,leaked_bytes,peak_blocks,peak_bytes,own_peak_bytes," \
	"own_peak_time_ns,lifetime_min_ns,lifetime_max_ns,lifetime_sum_ns," \
	"temporary,reallocations,function,file,line,module,stack\n"

static void a_row_has_all_figures_the_allocating_place_and_the_stack(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);
	struct profile_site *site = sample_site(p, sample_node(p, root, "f", 2), 30, 3);

	(void)state;
	site->temporary = 2;
	site->own_peak_time_ns = 5;
	exported_assert("csv", p, FIGURE_PEAK,
			HEAD "3,30,0,0,10,10,3,30,3,30,30,5,,0,0,2,0,"
			     "\"f\",\"/src/app.c\",2,\"/src/app\","
			     "\"main (/src/app.c:1);f (/src/app.c:2)\"\n");
}

static void quotes_are_doubled_and_lines_are_never_broken(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "operator\"\"_x;\n,", 1), 8, 1);
	exported_assert("csv", p, FIGURE_PEAK,
			HEAD "1,8,0,0,8,8,1,8,1,8,8,0,,0,0,0,0,"
			     "\"operator\"\"\"\"_x; ,\",\"/src/app.c\",1,\"/src/app\","
			     "\"operator\"\"\"\"_x: , (/src/app.c:1)\"\n");
}

static void what_is_not_known_is_empty(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, 0), 8, 1);
	exported_assert("csv", p, FIGURE_PEAK,
			HEAD "1,8,0,0,8,8,1,8,1,8,8,0,,0,0,0,0,"
			     "\"app+0x10\",\"\",,\"/src/app\",\"app+0x10\"\n");
}

static void an_empty_profile_gives_the_head_alone(void **state)
{
	(void)state;
	exported_assert("csv", sample_new(), FIGURE_PEAK, HEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_all_figures_the_allocating_place_and_the_stack),
		cmocka_unit_test(quotes_are_doubled_and_lines_are_never_broken),
		cmocka_unit_test(what_is_not_known_is_empty),
		cmocka_unit_test(an_empty_profile_gives_the_head_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
