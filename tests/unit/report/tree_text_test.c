/* tree_text_test.c -- call trees as printed. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "report/tree_text.h"

#include "../model/sample.h"
#include "page.h"

static const struct style ascii = {0};
static const struct style utf8 = {.utf8 = true};

/* Prints a tree of a profile, which it frees. */
static void print(struct page *page, struct profile *p, const struct tree_view *view,
		  const struct style *style)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);
	struct tree *t = tree_build(m, view);

	page_open(page);
	tree_text_print(page->out, t, style);
	tree_free(t);
	model_free(m);
	profile_free(p);
}

static const struct tree_view peak_inverted = {.figure = FIGURE_PEAK, .direction = TREE_INVERTED};
static const struct tree_view peak_top_down = {.figure = FIGURE_PEAK, .direction = TREE_TOP_DOWN};
static const struct tree_view leaked = {.figure = FIGURE_LEAKED, .direction = TREE_INVERTED};
static const struct tree_view temporary = {.figure = FIGURE_TEMPORARY, .direction = TREE_INVERTED};

static void the_inverted_tree_forks_where_callers_differ(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_tables(), &peak_inverted, &utf8);
	page_assert(&page, "Held at the peak: 1000 B in 10 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   " 95.00%     950 B       9  table_new (app.c:30) [hot]\n"
			   " 60.00%     600 B       6  ├─ load (app.c:20) [hot]\n"
			   "                           │  main (app.c:10)\n"
			   " 25.00%     250 B       2  ├─ save (app.c:40)\n"
			   "                           │  main (app.c:11)\n"
			   " 10.00%     100 B       1  └─ load (app.c:21)\n"
			   "                              main (app.c:10)\n"
			   "  5.00%      50 B       1  save (app.c:40)\n"
			   "                           main (app.c:11)\n");
}

static void the_top_down_tree_states_what_a_function_allocates_itself(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_tables(), &peak_top_down, &ascii);
	page_assert(&page, "Held at the peak: 1000 B in 10 blocks\n"
			   "  share     bytes  blocks  program start, callees below\n"
			   " 70.00%     700 B       7  main (app.c:10) [hot]\n"
			   " 60.00%     600 B       6  |- load (app.c:20) [hot]\n"
			   "                           |  table_new (app.c:30)\n"
			   " 10.00%     100 B       1  `- load (app.c:21)\n"
			   "                              table_new (app.c:30)\n"
			   " 30.00%     300 B       3  main (app.c:11)\n"
			   "                           save (app.c:40)\n"
			   " 25.00%     250 B       2  |- table_new (app.c:30)\n"
			   "  5.00%      50 B       1  `- [allocated here]\n");
}

static void given_a_threshold_then_what_is_left_out_is_stated_on_every_level(void **state)
{
	static const struct tree_view view = {.threshold = 11.0};
	struct page page;

	(void)state;
	print(&page, sample_tables(), &view, &ascii);
	page_assert(&page, "Held at the peak: 1000 B in 10 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   " 95.00%     950 B       9  table_new (app.c:30) [hot]\n"
			   " 60.00%     600 B       6  |- load (app.c:20) [hot]\n"
			   "                           |  main (app.c:10)\n"
			   " 25.00%     250 B       2  |- save (app.c:40)\n"
			   "                           |  main (app.c:11)\n"
			   " 10.00%     100 B       1  `- ... 1 more caller\n"
			   "  5.00%      50 B       1  ... 1 more function\n");
}

static void given_a_depth_then_the_levels_below_are_summed_up(void **state)
{
	static const struct tree_view view = {.depth = 1};
	struct page page;

	(void)state;
	print(&page, sample_tables(), &view, &ascii);
	page_assert(&page, "Held at the peak: 1000 B in 10 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   " 95.00%     950 B       9  table_new (app.c:30) [hot]\n"
			   "                           ... 3 more callers\n"
			   "  5.00%      50 B       1  save (app.c:40)\n"
			   "                           ... 1 more caller\n");
}

static void given_recursion_then_shares_stay_right(void **state)
{
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);
	struct page page;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		node = sample_node(p, node, "fib", 5);
		sample_site(p, node, 1024, 1);
	}
	print(&page, p, &peak_inverted, &ascii);
	page_assert(&page, "Held at the peak: 3.00 KiB in 3 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   "100.00%  3.00 KiB       3  fib (app.c:5) [hot]\n"
			   " 66.67%  2.00 KiB       2  |- fib (app.c:5) [hot]\n"
			   " 33.33%  1.00 KiB       1  |  |- fib (app.c:5) [hot]\n"
			   "                           |  |  main (app.c:1)\n"
			   " 33.33%  1.00 KiB       1  |  `- main (app.c:1)\n"
			   " 33.33%  1.00 KiB       1  `- main (app.c:1)\n");
}

static void given_folding_then_recursion_is_one_line_with_its_depths(void **state)
{
	static const struct tree_view view = {.fold = true};
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);
	struct page page;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		node = sample_node(p, node, "fib", 5);
		sample_site(p, node, 1024, 1);
	}
	print(&page, p, &view, &ascii);
	page_assert(&page, "Held at the peak: 3.00 KiB in 3 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   "100.00%  3.00 KiB       3  fib (app.c:5) [1 to 3 in a row] [hot]\n"
			   "                           main (app.c:1)\n");
}

static void given_folding_then_a_cycle_is_shown_once(void **state)
{
	static const struct tree_view view = {.fold = true};
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);
	struct page page;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		node = sample_node(p, node, "odd", 7);
		node = sample_node(p, node, "even", 5);
	}
	sample_site(p, node, 1024, 1);
	print(&page, p, &view, &ascii);
	page_assert(&page,
		    "Held at the peak: 1.00 KiB in 1 block\n"
		    "  share     bytes  blocks  allocating function, callers below\n"
		    "100.00%  1.00 KiB       1  even (app.c:5) [2 functions in a cycle, 4 times] "
		    "[hot]\n"
		    "                           odd (app.c:7)\n"
		    "                           main (app.c:1)\n");
}

static void inlined_and_unknown_frames_are_marked(void **state)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_frame(p, "outer", "/src/app.c", 3, 0);
	uint32_t inner = sample_frame(p, "inner\033[0m", "/usr/include/x.h", 2, outer);
	uint32_t root = sample_node_in(p, 0, 1, 0);
	struct page page;

	(void)state;
	sample_site(p, sample_node_in(p, root, 1, inner), 1536, 1);
	print(&page, p, &leaked, &ascii);
	page_assert(
		&page,
		"Not freed when the program ended: 1.50 KiB in 1 block\n"
		"  share     bytes  blocks  allocating function, callers below\n"
		"100.00%  1.50 KiB       1  inner\\x1b[0m (/usr/include/x.h:2) [inlined] [hot]\n"
		"                           outer (app.c:3)\n"
		"                           app+0x10\n");
}

static void given_stacks_that_end_where_others_go_on_then_both_are_shown(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, sample_node(p, 0, "main", 1), "f", 2), 30, 1);
	sample_site(p, sample_node(p, 0, "f", 2), 10, 1);
	print(&page, p, &peak_inverted, &ascii);
	page_assert(&page, "Held at the peak: 40 B in 2 blocks\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   "100.00%      40 B       2  f (app.c:2) [hot]\n"
			   " 75.00%      30 B       1  |- main (app.c:1) [hot]\n"
			   " 25.00%      10 B       1  `- [no caller]\n");
}

static void temporary_allocations_are_counted_and_have_no_bytes(void **state)
{
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	p->sites.at[0].temporary = 3;
	p->sites.at[3].temporary = 1;
	p->totals.temporary_allocations = 4;
	print(&page, p, &temporary, &ascii);
	page_assert(&page, "Freed before anything else was allocated: 4 calls\n"
			   "  share  calls  allocating function, callers below\n"
			   " 75.00%      3  table_new (app.c:30) [hot]\n"
			   "                load (app.c:20)\n"
			   "                main (app.c:10)\n"
			   " 25.00%      1  save (app.c:40)\n"
			   "                main (app.c:11)\n");
}

static void given_totals_that_the_stacks_do_not_explain_then_a_note_says_so(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, 0, "main", 1), 10, 1);
	p->totals.peak_bytes = 30;
	p->totals.peak_blocks = 2;
	print(&page, p, &peak_inverted, &ascii);
	page_assert(&page,
		    "Held at the peak: 10 B in 1 block\n"
		    "  ! the recorder counted 30 B in 2 blocks: the difference has no stack\n"
		    "  share     bytes  blocks  allocating function, callers below\n"
		    "100.00%      10 B       1  main (app.c:1) [hot]\n");
}

static void given_nothing_to_show_then_one_sentence_says_so(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_new(), &peak_inverted, &ascii);
	page_assert(&page, "Nothing was allocated.\n");
	print(&page, sample_new(), &leaked, &ascii);
	page_assert(&page, "Nothing leaked.\n");
}

static void given_a_narrow_terminal_then_no_line_is_longer(void **state)
{
	static const struct style narrow = {.width = 60};
	struct profile *p = sample_new();
	const char *rest;
	struct page page;

	(void)state;
	sample_site(
		p,
		sample_node(
			p, 0,
			"std::vector<std::basic_string<char>, std::allocator<char> >::push_back",
			12),
		10, 1);
	print(&page, p, &peak_inverted, &narrow);
	rest = strstr(page_text(&page), "100.00%");
	assert_non_null(rest);
	assert_int_equal(strcspn(rest, "\n"), 60);
	assert_non_null(strstr(rest, "..."));
	page_close(&page);
}

static void given_colour_then_every_line_ends_in_plain_ink(void **state)
{
	static const struct style colourful = {.colour = true};
	struct page page;

	(void)state;
	print(&page, sample_tables(), &peak_inverted, &colourful);
	assert_non_null(strstr(page_text(&page),
			       "\033[1mtable_new\033[0m \033[36m(app.c:30)\033[0m [hot]\n"));
	page_close(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_inverted_tree_forks_where_callers_differ),
		cmocka_unit_test(the_top_down_tree_states_what_a_function_allocates_itself),
		cmocka_unit_test(given_a_threshold_then_what_is_left_out_is_stated_on_every_level),
		cmocka_unit_test(given_a_depth_then_the_levels_below_are_summed_up),
		cmocka_unit_test(given_recursion_then_shares_stay_right),
		cmocka_unit_test(given_folding_then_recursion_is_one_line_with_its_depths),
		cmocka_unit_test(given_folding_then_a_cycle_is_shown_once),
		cmocka_unit_test(inlined_and_unknown_frames_are_marked),
		cmocka_unit_test(given_stacks_that_end_where_others_go_on_then_both_are_shown),
		cmocka_unit_test(temporary_allocations_are_counted_and_have_no_bytes),
		cmocka_unit_test(given_totals_that_the_stacks_do_not_explain_then_a_note_says_so),
		cmocka_unit_test(given_nothing_to_show_then_one_sentence_says_so),
		cmocka_unit_test(given_a_narrow_terminal_then_no_line_is_longer),
		cmocka_unit_test(given_colour_then_every_line_ends_in_plain_ink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
