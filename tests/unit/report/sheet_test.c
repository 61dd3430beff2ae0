/* sheet_test.c -- whole reports as printed. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "report/sheet.h"

#include "../model/sample.h"
#include "page.h"

#define MS UINT64_C(1000000)

static const struct style ascii = {0};

/* Prints a sheet of a profile, which it frees; what precedes the empty line after the totals is cut
 * off unless the sheet has a filter. */
static void print(struct page *page, struct profile *p, const struct sheet *s,
		  const struct style *style)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);
	struct page whole;

	page_open(&whole);
	sheet_print(whole.out, m, s, style);
	page_open(page);
	const char *from = strstr(page_text(&whole), s->view.filter ? "  filter" : "\n\n");
	assert_non_null(from);
	fputs(from + (s->view.filter ? 0 : 2), page->out);
	page_close(&whole);
	model_free(m);
	profile_free(p);
}

static void print_json(struct page *page, struct profile *p, const struct sheet *s)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);

	page_open(page);
	sheet_print_json(page->out, m, s);
	model_free(m);
	profile_free(p);
}

/* The sample at two points: load's 700 bytes and 100 of save's, then 150 of load's and all of
 * save's 300. */
static struct profile *sample_times(void)
{
	static const struct profile_change changes[] = {
		{0, 0, 600, 6}, {0, 1, 100, 1}, {0, 2, 100, 1}, {1, 0, 150, 2},
		{1, 1, 0, 0},	{1, 2, 250, 2}, {1, 3, 50, 1}};
	struct profile *p = sample_tables();

	*vec_push(&p->points) = (struct profile_point){
		.time_ns = 400 * MS, .live_bytes = 800, .live_blocks = 8, .peak_bytes = 1000};
	*vec_push(&p->points) = (struct profile_point){
		.time_ns = 1000 * MS, .live_bytes = 450, .live_blocks = 5, .peak_bytes = 800};
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		*vec_push(&p->changes) = changes[i];
	p->totals.peak_time_ns = 300 * MS;
	return p;
}

static void add(struct pattern_list *list, const char *text)
{
	struct error e = {0};

	assert_int_equal(pattern_add(list, text, &e), 0);
}

static void what_a_filter_leaves_out_is_stated_first(void **state)
{
	struct filter filter = {.size_min = 60};
	struct sheet s = {.view = {.filter = &filter}, .tree = {.depth = 1}};
	struct page page;

	(void)state;
	add(&filter.include, "load");
	add(&filter.exclude, "/nothing/");
	add(&filter.no_modules, "libz");
	print(&page, sample_tables(), &s, &ascii);
	page_assert(&page, "  filter       stacks through load; not through /nothing/; not in "
			   "libz; blocks of 60 B and more\n"
			   "  ! not in this profile: function /nothing/, module libz\n"
			   "  left out     300 B in 3 blocks of 2 stacks, by function\n"
			   "\n"
			   "Held at the peak: 700 B in 7 blocks (of 1000 B in 10 blocks)\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   "100.00%     700 B       7  table_new (app.c:30) [hot]\n"
			   "                           ... 2 more callers\n");
	filter_free(&filter);
}

static void live_at_a_time_says_which_point_stands_for_it(void **state)
{
	const struct sheet s = {
		.view = {.figure = FIGURE_LIVE,
			 .at = {.kind = MOMENT_POINT, .asked_ns = 500 * MS, .time_ns = 400 * MS}},
		.tree = {.figure = FIGURE_LIVE, .depth = 1},
	};
	struct page page;

	(void)state;
	print(&page, sample_times(), &s, &ascii);
	page_assert(&page, "Live at 500 ms: 800 B in 8 blocks\n"
			   "  500 ms is point 1 of 2 on the time line, taken at 400 ms\n"
			   "  share     bytes  blocks  allocating function, callers below\n"
			   "100.00%     800 B       8  table_new (app.c:30) [hot]\n"
			   "                           ... 3 more callers\n");
}

static const struct sheet growth = {
	.view = {.figure = FIGURE_GROWTH,
		 .from = {.kind = MOMENT_POINT, .asked_ns = 400 * MS, .time_ns = 400 * MS},
		 .at = {.kind = MOMENT_POINT,
			.asked_ns = 1000 * MS,
			.time_ns = 1000 * MS,
			.point = 1}},
	.tree = {.figure = FIGURE_GROWTH},
};

static void growth_shows_what_grew_and_what_shrank(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_times(), &growth, &ascii);
	page_assert(&page, "Grown from 400 ms to 1.00 s: -350 B in -3 blocks\n"
			   "  400 ms is point 1 of 2 on the time line, taken at 400 ms\n"
			   "  1.00 s is point 2 of 2 on the time line, taken at 1.00 s\n"
			   "\n"
			   "What grew\n"
			   "  share      bytes  blocks  allocating function, callers below\n"
			   " 75.00%     +150 B      +1  table_new (app.c:30) [hot]\n"
			   "                            save (app.c:40)\n"
			   "                            main (app.c:11)\n"
			   " 25.00%      +50 B      +1  save (app.c:40)\n"
			   "                            main (app.c:11)\n"
			   "\n"
			   "What shrank\n"
			   "  share      bytes  blocks  allocating function, callers below\n"
			   "100.00%     -550 B      -5  table_new (app.c:30) [hot]\n"
			   " 81.82%     -450 B      -4  |- load (app.c:20) [hot]\n"
			   "                            |  main (app.c:10)\n"
			   " 18.18%     -100 B      -1  `- load (app.c:21)\n"
			   "                               main (app.c:10)\n");
}

static void growth_as_a_table_has_both_halves(void **state)
{
	struct sheet s = growth;
	struct page page;

	(void)state;
	s.shape = SHEET_FLAT;
	s.key = FLAT_BY_LINE;
	print(&page, sample_times(), &s, &ascii);
	page_assert(&page,
		    "Grown from 400 ms to 1.00 s: -350 B in -3 blocks\n"
		    "  400 ms is point 1 of 2 on the time line, taken at 400 ms\n"
		    "  1.00 s is point 2 of 2 on the time line, taken at 1.00 s\n"
		    "\n"
		    "What grew\n"
		    "   self      bytes  blocks    total      bytes  blocks  line\n"
		    " 75.00%     +150 B      +1   75.00%     +150 B      +1  table_new (app.c:30)\n"
		    " 25.00%      +50 B      +1  100.00%     +200 B      +2  save (app.c:40)\n"
		    "  0.00%        0 B       0  100.00%     +200 B      +2  main (app.c:11)\n"
		    "\n"
		    "What shrank\n"
		    "   self      bytes  blocks    total      bytes  blocks  line\n"
		    "100.00%     -550 B      -5  100.00%     -550 B      -5  table_new (app.c:30)\n"
		    "  0.00%        0 B       0  100.00%     -550 B      -5  main (app.c:10)\n"
		    "  0.00%        0 B       0   81.82%     -450 B      -4  load (app.c:20)\n"
		    "  0.00%        0 B       0   18.18%     -100 B      -1  load (app.c:21)\n");
}

static void growth_as_json_is_signed(void **state)
{
	struct page page;

	(void)state;
	print_json(&page, sample_times(), &growth);
	assert_true(page_is_json(&page));
	assert_non_null(strstr(page_text(&page), "\"total_bytes\": -350,"));
	assert_non_null(strstr(page_text(&page), "\"bytes\": -550,"));
	page_close(&page);
}

static void own_peaks_do_not_claim_to_have_been_held_at_once(void **state)
{
	const struct sheet s = {.view = {.figure = FIGURE_OWN_PEAK},
				.tree = {.figure = FIGURE_OWN_PEAK, .depth = 1}};
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	p->totals.peak_bytes = 700;
	print(&page, p, &s, &ascii);
	page_assert(&page, "The most that each stack ever held, added up: 1000 B\n"
			   "  each at its own time; the most that was held at once is 700 B\n"
			   "  share     bytes  allocating function, callers below\n"
			   " 95.00%     950 B  table_new (app.c:30) [hot]\n"
			   "                   ... 3 more callers\n"
			   "  5.00%      50 B  save (app.c:40)\n"
			   "                   ... 1 more caller\n");
}

static void suppressed_leaks_are_stated_by_rule(void **state)
{
	struct suppress_list rules = {0};
	struct error e = {0};
	struct sheet s = {.view = {.figure = FIGURE_LEAKED, .suppress = &rules},
			  .tree = {.figure = FIGURE_LEAKED, .depth = 1}};
	struct page page;

	(void)state;
	assert_int_equal(suppress_parse(&rules, "leak:load\nleak:unused\n", "x", &e), 0);
	print(&page, sample_tables(), &s, &ascii);
	page_assert(&page,
		    "Not freed when the program ended: 300 B in 3 blocks (of 1000 B in 10 blocks)\n"
		    "  suppressed: 700 B in 7 blocks by 1 rule\n"
		    "    700 B in 7 blocks: leak:load\n"
		    "  share     bytes  blocks  allocating function, callers below\n"
		    " 83.33%     250 B       2  table_new (app.c:30) [hot]\n"
		    "                           ... 1 more caller\n"
		    " 16.67%      50 B       1  save (app.c:40)\n"
		    "                           ... 1 more caller\n");
	suppress_free(&rules);
}

static void given_all_leaks_suppressed_then_nothing_else_leaked(void **state)
{
	struct suppress_list rules = {0};
	struct error e = {0};
	struct sheet s = {.view = {.figure = FIGURE_LEAKED, .suppress = &rules},
			  .tree = {.figure = FIGURE_LEAKED}};
	struct page page;

	(void)state;
	assert_int_equal(suppress_parse(&rules, "leak:main\n", "x", &e), 0);
	print(&page, sample_tables(), &s, &ascii);
	page_assert(&page,
		    "Not freed when the program ended: 0 B in 0 blocks (of 1000 B in 10 blocks)\n"
		    "  suppressed: 1000 B in 10 blocks by 1 rule\n"
		    "    1000 B in 10 blocks: leak:main\n"
		    "Nothing else leaked.\n");
	suppress_free(&rules);
}

static void given_a_filter_that_nothing_passes_then_it_is_said(void **state)
{
	struct filter filter = {0};
	struct sheet s = {.view = {.filter = &filter}};
	struct page page;

	(void)state;
	add(&filter.include, "nobody");
	print(&page, sample_tables(), &s, &ascii);
	page_assert(&page, "  filter       stacks through nobody\n"
			   "  ! not in this profile: function nobody\n"
			   "  left out     1000 B in 10 blocks of 4 stacks, by function\n"
			   "\n"
			   "Held at the peak: 0 B in 0 blocks (of 1000 B in 10 blocks)\n"
			   "The filter leaves nothing.\n");
	filter_free(&filter);
}

static void threads_are_told_apart_by_order_and_number(void **state)
{
	const struct sheet s = {.shape = SHEET_THREADS, .tree = {.threshold = 10}};
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		*vec_push(&p->threads) = (struct profile_thread){
			.tid = 77,
			.serial = i + 1,
			.name = i ? profile_add_string(p, "worker") : (struct string_id){0},
			.at_peak_bytes = i == 0 ? 40 : 480,
			.at_peak_blocks = i == 0 ? 2 : 4};
	print(&page, p, &s, &ascii);
	page_assert(&page, "Held at the peak: 1000 B in 10 blocks\n"
			   "  share     bytes  blocks  thread\n"
			   " 48.00%     480 B       4  worker (thread 2, tid 77)\n"
			   " 48.00%     480 B       4  worker (thread 3, tid 77)\n"
			   "  4.00%      40 B       2  ... 1 more thread\n");
}

static void lifetimes_end_with_what_is_not_shown(void **state)
{
	const struct sheet s = {.shape = SHEET_LIFETIME, .limit = 1};
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct profile_site *site = &p->sites.at[i];
		if (i == 1)
			continue;
		site->frees = site->allocations;
		site->freed_bytes = site->allocated_bytes;
		site->live_blocks = site->live_bytes = 0;
		site->lifetime_sum_ns = site->frees * 1000 * (i + 1);
		site->lifetime_min_ns = 500 * (i + 1);
		site->lifetime_max_ns = 2000 * (i + 1);
	}
	print(&page, p, &s, &ascii);
	page_assert(&page,
		    "Lifetimes: 9 freed blocks lived for 1.78 us on average, 500 ns to 8.00 us\n"
		    "  not in the table: 1 block of 1 stack that freed nothing\n"
		    "       mean     shortest      longest          freed      bytes   not freed  "
		    "allocated by\n"
		    "    4.00 us      2.00 us      8.00 us              1       50 B           0  "
		    "save (app.c)\n"
		    "    1.50 us       500 ns      6.00 us              8      850 B           0  "
		    "... 1 more\n");
}

static void lifetimes_have_bars(void **state)
{
	const struct sheet s = {.shape = SHEET_LIFETIMES};
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	p->size_by_life[7][11] = 300;
	p->size_by_life[8][11] = 20;
	p->size_by_life[7][31] = 1;
	print(&page, p, &s, &ascii);
	page_assert(&page, "Lifetimes\n"
			   "        from       below         blocks    share\n"
			   "     1.02 us     2.05 us            320   96.68%  "
			   "################################\n"
			   "      1.07 s      2.15 s              1    0.30%  #\n"
			   "   not freed                         10    3.02%  #\n");
}

static void sizes_have_bars_that_fill_the_terminal(void **state)
{
	const struct sheet s = {.shape = SHEET_SIZES};
	const struct style narrow = {.utf8 = true, .width = 80};
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	p->sizes[7] = (struct profile_bucket){9, 900, 9, 900};
	p->sizes[0] = (struct profile_bucket){1, 0, 0, 0};
	print(&page, p, &s, &narrow);
	page_assert(&page, "Sizes\n"
			   "       from      below    allocations      bytes         leaked\n"
			   "        0 B        1 B              1        0 B              0  █\n"
			   "       64 B      128 B              9      900 B              9  "
			   "████████████████\n");
}

static void the_time_line_is_a_chart(void **state)
{
	const struct sheet s = {.shape = SHEET_TIMELINE};
	const struct style narrow = {.width = 45};
	struct page page;

	(void)state;
	print(&page, sample_times(), &s, &narrow);
	page_assert(&page, "Live over time: at most 1000 B\n"
			   "    1000 B |        #\n"
			   "           |        #\n"
			   "           |        ##############\n"
			   "           |        ##############\n"
			   "           |        ##############\n"
			   "     500 B |        ########################\n"
			   "           |        ########################\n"
			   "           |        ########################\n"
			   "           |        ########################\n"
			   "           |        ########################\n"
			   "           +--------------------------------\n"
			   "            0                         1.50 s\n");
}

static void the_time_line_of_a_filter_is_a_chart_too(void **state)
{
	struct filter filter = {0};
	struct sheet s = {.shape = SHEET_TIMELINE, .view = {.filter = &filter}};
	const struct style narrow = {.utf8 = true, .width = 33};
	struct page page;

	(void)state;
	add(&filter.include, "save");
	print(&page, sample_times(), &s, &narrow);
	page_assert(&page, "  filter       stacks through save\n"
			   "  left out     700 B in 7 blocks of 2 stacks, by function\n"
			   "\n"
			   "Live over time: at most 300 B\n"
			   "     300 B │             ███████\n"
			   "           │             ███████\n"
			   "           │             ███████\n"
			   "           │             ███████\n"
			   "           │             ███████\n"
			   "     150 B │             ███████\n"
			   "           │     ▂▂▂▂▂▂▂▂███████\n"
			   "           │     ███████████████\n"
			   "           │     ███████████████\n"
			   "           │     ███████████████\n"
			   "           └────────────────────\n"
			   "            0             1.50 s\n");
	filter_free(&filter);
}

static void findings_come_with_numbers_and_a_stack(void **state)
{
	const struct sheet s = {.shape = SHEET_FINDINGS, .view = {.figure = FIGURE_LEAKED}};
	const struct style narrow = {.width = 72};
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, sample_node(p, 0, "main", 1), "node_new", 7), 24 * 50000,
		    50000);
	struct profile_site *site =
		sample_site(p, sample_node(p, sample_node(p, 0, "main", 2), "loop", 9), 0, 0);
	site->allocations = site->frees = site->temporary = 50000;
	site->allocated_bytes = site->freed_bytes = 5000000;
	p->totals.allocations += 50000;
	print(&page, p, &s, &narrow);
	page_assert(&page, "1. temporary blocks in a loop: 50,000 of 50,000 allocations were freed "
			   "before the next\n"
			   "   they are 50.00% of all allocations, of 100 B on average; one block\n"
			   "   that is used again would save 50,000 calls of malloc and free\n"
			   "   > loop (app.c:9)\n"
			   "     main (app.c:2)\n"
			   "\n"
			   "2. many tiny blocks: 50,000 of 24 B at the peak\n"
			   "   they hold 1.14 MiB; glibc's malloc adds 391 KiB to that, which an\n"
			   "   array or a pool of them would save\n"
			   "   > node_new (app.c:7)\n"
			   "     main (app.c:1)\n"
			   "The recording is too short to tell which leaks grow.\n");
}

static void the_default_report_ends_with_findings_in_short(void **state)
{
	const struct sheet s = {.tree = {.depth = 1}, .findings = true};
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, 0, "node_new", 7), 24 * 50000, 50000);
	print(&page, p, &s, &ascii);
	page_assert(&page,
		    "Held at the peak: 1.14 MiB in 50,000 blocks\n"
		    "  share     bytes  blocks  allocating function, callers below\n"
		    "100.00%  1.14 MiB  50,000  node_new (app.c:7) [hot]\n"
		    "\n"
		    "Findings (--findings for the evidence)\n"
		    "  many tiny blocks: 50,000 of 24 B at the peak in node_new (app.c:7)\n");
}

static void given_an_empty_profile_then_every_shape_says_so(void **state)
{
	(void)state;
	for (unsigned shape = SHEET_TREE; shape <= SHEET_FINDINGS; shape++) {
		const struct sheet s = {.shape = (enum sheet_shape)shape};
		struct page page, json;
		print(&page, profile_new(), &s, &ascii);
		assert_true(strlen(page_text(&page)) > 5);
		page_close(&page);
		print_json(&json, profile_new(), &s);
		assert_true(page_is_json(&json));
		page_close(&json);
	}
}

static void every_shape_is_json_too(void **state)
{
	(void)state;
	for (unsigned shape = SHEET_TREE; shape <= SHEET_FINDINGS; shape++) {
		const struct sheet s = {.shape = (enum sheet_shape)shape};
		struct page page;
		print_json(&page, sample_times(), &s);
		assert_true(page_is_json(&page));
		page_close(&page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_filter_leaves_out_is_stated_first),
		cmocka_unit_test(live_at_a_time_says_which_point_stands_for_it),
		cmocka_unit_test(growth_shows_what_grew_and_what_shrank),
		cmocka_unit_test(growth_as_a_table_has_both_halves),
		cmocka_unit_test(growth_as_json_is_signed),
		cmocka_unit_test(own_peaks_do_not_claim_to_have_been_held_at_once),
		cmocka_unit_test(suppressed_leaks_are_stated_by_rule),
		cmocka_unit_test(given_all_leaks_suppressed_then_nothing_else_leaked),
		cmocka_unit_test(given_a_filter_that_nothing_passes_then_it_is_said),
		cmocka_unit_test(threads_are_told_apart_by_order_and_number),
		cmocka_unit_test(lifetimes_end_with_what_is_not_shown),
		cmocka_unit_test(lifetimes_have_bars),
		cmocka_unit_test(sizes_have_bars_that_fill_the_terminal),
		cmocka_unit_test(the_time_line_is_a_chart),
		cmocka_unit_test(the_time_line_of_a_filter_is_a_chart_too),
		cmocka_unit_test(findings_come_with_numbers_and_a_stack),
		cmocka_unit_test(the_default_report_ends_with_findings_in_short),
		cmocka_unit_test(given_an_empty_profile_then_every_shape_says_so),
		cmocka_unit_test(every_shape_is_json_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
