/* diff_text_test.c -- what changed between two profiles, on the page. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "report/diff_json.h"
#include "report/diff_text.h"

#include "../model/pair.h"
#include "page.h"

static const struct style plain = {0};

/* sample_tables, and the same after `save` began to hoard and `load` to hold less. */
static struct pair compare(enum figure figure, enum diff_by by)
{
	struct profile *now = sample_tables();
	uint32_t save = sample_node(now, sample_node(now, 0, "main", 11), "save", 45);

	sample_site(now, sample_node(now, save, "hoard", 60), 4096, 2);
	now->sites.at[0].at_peak_bytes -= 100;
	now->sites.at[0].at_peak_blocks -= 1;
	now->totals.peak_bytes -= 100;
	now->totals.peak_blocks -= 1;
	now->sites.at[1].temporary = now->totals.temporary_allocations = 1200;
	return pair_new(sample_tables(), now, figure, by);
}

static void assert_rows(enum figure figure, enum diff_by by, double threshold, const char *expected)
{
	struct pair c = compare(figure, by);
	struct page page;

	page_open(&page);
	diff_text_print(page.out, c.diff, threshold, 0, &plain);
	pair_free(&c);
	page_assert(&page, expected);
}

static void stacks_that_a_file_has_lost_are_not_passed_off_as_a_change(void **state)
{
	struct profile *now = sample_tables();
	struct page page;

	(void)state;
	now->sites.count = 3; /* the last one has 50 bytes in 5 blocks */
	struct pair c = pair_new(sample_tables(), now, FIGURE_PEAK, DIFF_BY_STACK);
	page_open(&page);
	diff_text_print(page.out, c.diff, 0, 0, &plain);
	pair_free(&c);
	const char *text = page_text(&page);
	assert_non_null(strstr(text, "  ! new: the recorder counted 1000 B in 10 blocks, its "));
	assert_non_null(strstr(text, ": what is missing may look gone here\n"));
	assert_null(strstr(text, "! old"));
	page_close(&page);
}

static void totals_have_every_figure(void **state)
{
	struct pair c = compare(FIGURE_PEAK, DIFF_BY_STACK);
	struct page page;

	(void)state;
	c.profiles[1]->totals.lost_events = 3;
	page_open(&page);
	diff_text_print_totals(page.out, c.diff, &plain);
	pair_free(&c);
	page_assert(&page,
		    "old  app  pid 42, ./app -x\n"
		    "new  app  pid 42, ./app -x\n"
		    "  ! lost events: 3; allocations or frees found no room in the buffers: the "
		    "figures miss them\n"
		    "\n"
		    "                          old            new         change   relative\n"
		    "  peak                 1000 B       4.88 KiB      +3.90 KiB   +399.60%\n"
		    "    blocks                 10             11             +1    +10.00%\n"
		    "  leaked               1000 B       4.98 KiB      +4.00 KiB   +409.60%\n"
		    "    blocks                 10             12             +2    +20.00%\n"
		    "  allocated            1000 B       4.98 KiB      +4.00 KiB   +409.60%\n"
		    "  calls                    10             12             +2    +20.00%\n"
		    "  temporary                 0          1,200         +1,200     from 0\n");
}

/* As far as what shrank. */
#define BY_STACK                                                                     \
	"\n"                                                                         \
	"Change of peak by stack: +3.90 KiB, +1 block\n"                             \
	"\n"                                                                         \
	"Grew\n"                                                                     \
	"   change   relative        old         new     blocks  stack\n"            \
	"+4.00 KiB        new        0 B    4.00 KiB         +2  hoard (app.c:60)\n" \
	"                                                        save (app.c:45)\n"  \
	"                                                        main (app.c:11)\n"  \
	"\n"                                                                         \
	"Shrank\n"                                                                   \
	"   change   relative        old         new     blocks  stack\n"

static void stacks_are_listed_with_what_grew_first(void **state)
{
	(void)state;
	assert_rows(FIGURE_PEAK, DIFF_BY_STACK, 0,
		    BY_STACK
		    "   -100 B    -16.67%      600 B       500 B         -1  table_new (app.c:30)\n"
		    "                                                        load (app.c:20)\n"
		    "                                                        main (app.c:10)\n"
		    "\n"
		    "unchanged: 3 stacks, 400 B in 4 blocks\n");
}

static void what_is_left_out_is_stated(void **state)
{
	(void)state;
	assert_rows(FIGURE_PEAK, DIFF_BY_STACK, 10,
		    BY_STACK
		    "                                                        ... 1 more stack: "
		    "-100 B, -1 block\n"
		    "\n"
		    "unchanged: 3 stacks, 400 B in 4 blocks\n");
}

static void functions_are_listed_with_their_callers(void **state)
{
	(void)state;
	assert_rows(FIGURE_PEAK, DIFF_BY_FUNCTION, 0,
		    "\n"
		    "Change of peak by function: +3.90 KiB, +1 block\n"
		    "\n"
		    "Grew\n"
		    "   change   relative        old         new     blocks  function\n"
		    "+4.00 KiB        new        0 B    4.00 KiB         +2  hoard (app.c)\n"
		    "\n"
		    "Shrank\n"
		    "   change   relative        old         new     blocks  function\n"
		    "   -100 B    -10.53%      950 B       850 B         -1  table_new (app.c)\n"
		    "\n"
		    "Called what grew or shrank\n"
		    "   change   relative        old         new     blocks  function\n"
		    "+4.00 KiB      14.6x      300 B    4.29 KiB         +2  save (app.c)\n"
		    "+3.90 KiB   +399.60%     1000 B    4.88 KiB         +1  main (app.c)\n"
		    "   -100 B    -14.29%      700 B       600 B         -1  load (app.c)\n"
		    "\n"
		    "unchanged: 1 function, 50 B in 1 block\n");
}

static void modules_are_listed_by_path(void **state)
{
	(void)state;
	assert_rows(FIGURE_PEAK, DIFF_BY_MODULE, 0,
		    "\n"
		    "Change of peak by module: +3.90 KiB, +1 block\n"
		    "\n"
		    "Grew\n"
		    "   change   relative        old         new     blocks  module\n"
		    "+3.90 KiB   +399.60%     1000 B    4.88 KiB         +1  /src/app\n");
}

static void a_figure_without_bytes_has_fewer_columns(void **state)
{
	(void)state;
	assert_rows(FIGURE_TEMPORARY, DIFF_BY_STACK, 0,
		    "\n"
		    "Change of temporary by stack: +1,200 calls\n"
		    "\n"
		    "Grew\n"
		    "     calls   relative         old         new  stack\n"
		    "    +1,200     from 0           0       1,200  table_new (app.c:30)\n"
		    "                                               load (app.c:21)\n"
		    "                                               main (app.c:10)\n");
}

static void calls_come_first_where_they_are_asked_for_and_their_bytes_last(void **state)
{
	(void)state;
	assert_rows(FIGURE_CALLS, DIFF_BY_FUNCTION, 0,
		    "\n"
		    "Change of calls by function: +2 calls, +4.00 KiB\n"
		    "\n"
		    "Grew\n"
		    "     calls   relative         old         new      bytes  function\n"
		    "        +2        new           0           2  +4.00 KiB  hoard (app.c)\n"
		    "\n"
		    "Called what grew or shrank\n"
		    "     calls   relative         old         new      bytes  function\n"
		    "        +2    +20.00%          10          12  +4.00 KiB  main (app.c)\n"
		    "        +2    +66.67%           3           5  +4.00 KiB  save (app.c)\n"
		    "\n"
		    "unchanged: 2 functions, 1000 B in 10 calls\n");
}

static void a_tree_joins_stacks_at_the_allocating_function(void **state)
{
	static const struct tree_view view = {.threshold = 0};
	struct pair c = compare(FIGURE_PEAK, DIFF_BY_STACK);
	struct diff_tree *t = diff_tree_build(c.diff, &view);
	struct page page;

	(void)state;
	page_open(&page);
	diff_text_print_tree(page.out, t, &plain);
	diff_tree_free(t);
	pair_free(&c);
	page_assert(&page, "\n"
			   "Change of peak by stack: +3.90 KiB, +1 block\n"
			   "   change     blocks  allocating function, callers below\n"
			   "+4.00 KiB         +2  hoard (app.c)\n"
			   "                      save (app.c)\n"
			   "                      main (app.c)\n"
			   "   -100 B         -1  table_new (app.c)\n"
			   "                      load (app.c)\n"
			   "                      main (app.c)\n"
			   "\n"
			   "unchanged: 3 stacks, 400 B in 4 blocks\n");
}

static void json_is_json_in_every_form(void **state)
{
	static const struct tree_view view = {.threshold = 0};

	(void)state;
	for (unsigned by = 0; by < DIFF_BY_KINDS; by++) {
		struct pair c = compare(FIGURE_PEAK, (enum diff_by)by);
		struct page page;
		page_open(&page);
		diff_json_print(page.out, c.diff, 0);
		assert_true(page_is_json(&page));
		assert_non_null(strstr(page_text(&page), "\"change_bytes\": 4096"));
		page_close(&page);
		pair_free(&c);
	}
	struct pair c = compare(FIGURE_PEAK, DIFF_BY_STACK);
	struct diff_tree *t = diff_tree_build(c.diff, &view);
	struct page page;
	page_open(&page);
	diff_json_print_tree(page.out, t);
	assert_true(page_is_json(&page));
	page_close(&page);
	diff_tree_free(t);
	pair_free(&c);
}

/* Only a forged file can hold as much; what counts is that sums are made without harm. */
static void sums_of_changes_may_run_over(void **state)
{
	const struct tree_view view = {.threshold = 100};
	struct profile *now = sample_new();
	struct page page;

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		sample_site(now, sample_node(now, 0, i ? "many" : "more", i + 1), INT64_MAX,
			    INT64_MAX);
	struct pair c = pair_new(sample_new(), now, FIGURE_PEAK, DIFF_BY_STACK);
	struct diff_tree *tree = diff_tree_build(c.diff, &view);
	page_open(&page);
	diff_text_print(page.out, c.diff, 100, 0, &plain);
	diff_text_print_tree(page.out, tree, &plain);
	diff_json_print(page.out, c.diff, 100);
	diff_json_print_tree(page.out, tree);
	assert_non_null(strstr(page_text(&page), "... 2 more stacks"));
	page_close(&page);
	diff_tree_free(tree);
	pair_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_a_file_has_lost_are_not_passed_off_as_a_change),
		cmocka_unit_test(totals_have_every_figure),
		cmocka_unit_test(stacks_are_listed_with_what_grew_first),
		cmocka_unit_test(what_is_left_out_is_stated),
		cmocka_unit_test(functions_are_listed_with_their_callers),
		cmocka_unit_test(modules_are_listed_by_path),
		cmocka_unit_test(a_figure_without_bytes_has_fewer_columns),
		cmocka_unit_test(calls_come_first_where_they_are_asked_for_and_their_bytes_last),
		cmocka_unit_test(a_tree_joins_stacks_at_the_allocating_function),
		cmocka_unit_test(json_is_json_in_every_form),
		cmocka_unit_test(sums_of_changes_may_run_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
