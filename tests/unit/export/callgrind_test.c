/* callgrind_test.c -- the call graph with all figures. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

/* What follows the line of the events. */
static char *body_of(struct profile *p, enum figure figure)
{
	struct exported x = exported_make("callgrind", p, figure);
	char *events = strstr(x.text, "\nevents: ");

	assert_non_null(events);
	char *body = mem_copy_string(strchr(events + 1, '\n') + 1);
	free(x.text);
	return body;
}

static void assert_body(struct profile *p, const char *expected)
{
	char *body = body_of(p, FIGURE_PEAK);

	assert_string_equal(body, expected);
	free(body);
}

static void a_function_has_its_own_cost_by_line_and_that_of_its_calls(void **state)
{
	struct profile *p = sample_new();
	uint32_t save = sample_node(p, sample_node(p, 0, "main", 11), "save", 40);

	(void)state;
	sample_site(p, sample_node(p, save, "table_new", 30), 250, 2)->temporary = 1;
	sample_site(p, save, 50, 1)->at_peak_bytes = 0;
	assert_body(p, "\nob=(1) /src/app\nfl=(1) app.c\nfn=(1) main\n"
		       "cob=(1)\ncfi=(1)\ncfn=(2) save\ncalls=3 40\n"
		       "11 250 3 300 3 300 3 1\n"
		       "\nob=(1)\nfl=(1)\nfn=(2)\n"
		       "40 0 1 50 1 50 1 0\n"
		       "cob=(1)\ncfi=(1)\ncfn=(3) table_new\ncalls=2 30\n"
		       "40 250 2 250 2 250 2 1\n"
		       "\nob=(1)\nfl=(1)\nfn=(3)\n"
		       "30 250 2 250 2 250 2 1\n"
		       "\nob=?\?\?\nfl=?\?\?\nfn=[start]\n"
		       "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=3 11\n"
		       "0 250 3 300 3 300 3 1\n"
		       "\ntotals: 250 3 300 3 300 3 1\n");
}

/* a calls b calls a calls b calls c: callers pay for a, b and c once each. */
static void a_stack_counts_once_for_a_function_that_recurs(void **state)
{
	struct profile *p = sample_new();
	uint32_t node = 0;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		node = sample_node(p, node, i % 2 ? "b" : "a", 1 + i);
	sample_site(p, sample_node(p, node, "c", 9), 100, 2);
	assert_body(p, "\nob=(1) /src/app\nfl=(1) app.c\nfn=(1) a\n"
		       "cob=(1)\ncfi=(1)\ncfn=(2) b\ncalls=2 2\n"
		       "1 100 2 100 2 100 2 0\n"
		       "\nob=(1)\nfl=(1)\nfn=(2)\n"
		       "cob=(1)\ncfi=(1)\ncfn=(3) c\ncalls=2 9\n"
		       "4 100 2 100 2 100 2 0\n"
		       "\nob=(1)\nfl=(1)\nfn=(3)\n"
		       "9 100 2 100 2 100 2 0\n"
		       "\nob=?\?\?\nfl=?\?\?\nfn=[start]\n"
		       "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=2 1\n"
		       "0 100 2 100 2 100 2 0\n"
		       "\ntotals: 100 2 100 2 100 2 0\n");
}

static void lines_in_another_file_than_the_function_name_it(void **state)
{
	struct profile *p = sample_new();
	uint32_t first = sample_frame(p, "f", "/src/app.c", 5, 0);
	uint32_t second = sample_frame(p, "f", "/usr/include/inline.h", 7, 0);

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, first), 8, 1);
	sample_site(p, sample_node_in(p, 0, 1, second), 4, 1);
	char *body = body_of(p, FIGURE_PEAK);
	assert_non_null(strstr(body, "fl=(1) app.c\nfn=(1) f\n5 8 1 8 1 8 1 0\n"
				     "fi=(2) /usr/include/inline.h\n7 4 1 4 1 4 1 0\n"));
	assert_non_null(strstr(body, "cfi=(1)\ncfn=(1)\ncalls=2 5\n"));
	free(body);
}

static void functions_of_one_name_in_several_modules_are_told_apart(void **state)
{
	struct profile *p = sample_new();
	uint32_t here = sample_frame(p, "init", "", 0, 0);
	uint32_t there = sample_frame(p, "init", "", 0, 0);
	uint32_t module = sample_module(p, "/lib/other.so");

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, here), 8, 1);
	sample_site(p, sample_node_in(p, 0, module, there), 4, 1);
	char *body = body_of(p, FIGURE_PEAK);
	assert_non_null(strstr(body, "fn=(1) init\n0 4 "));
	assert_non_null(strstr(body, "fn=(2) init [/src/app]\n0 8 "));
	free(body);
}

static void names_stay_on_their_line_and_are_never_empty(void **state)
{
	struct profile *p = sample_new();
	uint32_t blank = sample_frame(p, " \n ", "", 0, 0);
	uint32_t module = sample_module(p, "/lib/new\nline.so");

	(void)state;
	sample_site(p, sample_node_in(p, sample_node(p, 0, "(7) f\ncalls=3 1", 1), module, blank),
		    8, 1);
	char *body = body_of(p, FIGURE_PEAK);
	assert_non_null(strstr(body, ") (7) f calls=3 1\n"));
	assert_non_null(strstr(body, ") /lib/new line.so\n"));
	assert_non_null(strstr(body, "fn=(1) ?\?\?\n"));
	free(body);
}

static void the_figure_that_was_asked_for_comes_first(void **state)
{
	struct exported x = exported_make("callgrind", sample_tables(), FIGURE_LEAKED);

	(void)state;
	assert_non_null(strstr(x.text,
			       "\nevents: leaked_bytes leaked_blocks peak_bytes peak_blocks "
			       "allocated_bytes calls temporary\n"));
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_own_cost_by_line_and_that_of_its_calls),
		cmocka_unit_test(a_stack_counts_once_for_a_function_that_recurs),
		cmocka_unit_test(lines_in_another_file_than_the_function_name_it),
		cmocka_unit_test(functions_of_one_name_in_several_modules_are_told_apart),
		cmocka_unit_test(names_stay_on_their_line_and_are_never_empty),
		cmocka_unit_test(the_figure_that_was_asked_for_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
