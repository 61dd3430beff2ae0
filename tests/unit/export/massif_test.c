/* massif_test.c -- the heap over time with trees. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

#define MS UINT64_C(1000000)
#define SNAPSHOT(number, time, bytes, tree)                                                 \
	"#-----------\nsnapshot=" number "\n#-----------\ntime=" time "\nmem_heap_B=" bytes \
	"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" tree "\n"
#define WHOLE "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"

static void assert_file(struct profile *p, const char *snapshots)
{
	struct exported x = exported_make("massif", p, FIGURE_PEAK);
	char *unit = strstr(x.text, "time_unit: ms\n");

	assert_non_null(unit);
	assert_string_equal(unit + strlen("time_unit: ms\n"), snapshots);
	free(x.text);
}

/* At a time, the one site of a profile holds so much. */
static void add_state(struct profile *p, uint64_t time_ns, uint64_t bytes)
{
	*vec_push(&p->points) = (struct profile_point){
		.time_ns = time_ns, .live_bytes = bytes, .live_blocks = 1, .peak_bytes = bytes};
	*vec_push(&p->changes) = (struct profile_change){
		.point = (uint32_t)p->points.count - 1, .live_bytes = bytes, .live_blocks = 1};
}

static void snapshots_follow_the_time_line_with_the_peak_in_its_place(void **state)
{
	struct profile *p = sample_new();
	struct profile_site *site =
		sample_site(p, sample_node(p, sample_node(p, 0, "main", 1), "f", 2), 90, 1);

	(void)state;
	site->live_bytes = 30;
	p->totals.peak_time_ns = 1234567;
	add_state(p, MS, 10);
	add_state(p, 2 * MS, 30);
	assert_file(p, SNAPSHOT("0", "0.000", "0", "empty")	  /**/
		    SNAPSHOT("1", "1.000", "10", "detailed")	  /**/
		    "n1: 10 " WHOLE " n1: 10 0x20: f (app.c:2)\n" /**/
		    "  n0: 10 0x10: main (app.c:1)\n"		  /**/
		    SNAPSHOT("2", "1.234", "90", "peak")	  /**/
		    "n1: 90 " WHOLE " n1: 90 0x20: f (app.c:2)\n" /**/
		    "  n0: 90 0x10: main (app.c:1)\n"		  /**/
		    SNAPSHOT("3", "2.000", "30", "detailed")	  /**/
		    "n1: 30 " WHOLE " n1: 30 0x20: f (app.c:2)\n" /**/
		    "  n0: 30 0x10: main (app.c:1)\n");
}

static void of_many_points_a_few_have_trees(void **state)
{
	struct profile *p = sample_new();
	unsigned trees = 0;

	(void)state;
	sample_site(p, sample_node(p, 0, "f", 1), 10, 1);
	for (unsigned i = 1; i <= 300; i++)
		add_state(p, i * MS, 10);
	struct exported x = exported_make("massif", p, FIGURE_PEAK);
	for (const char *at = x.text; (at = strstr(at, "=detailed")); at++)
		trees++;
	assert_in_range(trees, 9, 12);
	assert_non_null(strstr(x.text, "snapshot=301\n"));
	free(x.text);
}

static void what_is_below_the_threshold_is_added_up(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "large", 1), 9900, 1);
	sample_site(p, sample_node(p, 0, "small", 2), 50, 1);
	assert_file(p, SNAPSHOT("0", "0.000", "0", "empty") SNAPSHOT(
			       "1", "0.000", "9950",
			       "peak") "n2: 9950 " WHOLE " n0: 9900 0x10: large (app.c:1)\n"
				       " n0: 50 in 1 place, below massif's threshold (1.00%)\n");
	p = sample_new();
	sample_site(p, sample_node(p, 0, "large", 1), 9900, 1);
	sample_site(p, sample_node(p, 0, "small", 2), 50, 1);
	sample_site(p, sample_node(p, 0, "small", 3), 50, 1);
	assert_file(p,
		    SNAPSHOT("0", "0.000", "0", "empty") SNAPSHOT(
			    "1", "0.000", "10000",
			    "peak") "n2: 10000 " WHOLE " n0: 9900 0x10: large (app.c:1)\n"
				    " n0: 100 in 2 places, all below massif's threshold (1.00%)\n");
}

/* ms_print dies on a node that is larger than its snapshot. */
static void a_tree_that_holds_more_than_the_whole_is_left_out(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "f", 1), 10, 1);
	p->totals.peak_bytes = 9;
	assert_file(p, SNAPSHOT("0", "0.000", "0", "empty") SNAPSHOT("1", "0.000", "9", "empty"));
}

static void nothing_in_a_name_is_taken_for_a_comment(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	p->run.command = profile_add_string(p, "./app '#1\n2'");
	sample_site(p, sample_node(p, 0, "{closure#1}\nn0: 5", 1), 8, 1);
	struct exported x = exported_make("massif", p, FIGURE_PEAK);
	assert_non_null(strstr(x.text, "\ncmd: ./app '@1 2'\ntime_unit"));
	assert_non_null(strstr(x.text, "\n n0: 8 0x10: {closure@1} n0: 5 (app.c:1)\n"));
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_follow_the_time_line_with_the_peak_in_its_place),
		cmocka_unit_test(of_many_points_a_few_have_trees),
		cmocka_unit_test(what_is_below_the_threshold_is_added_up),
		cmocka_unit_test(a_tree_that_holds_more_than_the_whole_is_left_out),
		cmocka_unit_test(nothing_in_a_name_is_taken_for_a_comment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
