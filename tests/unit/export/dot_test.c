/* dot_test.c -- the call graph of one figure for Graphviz. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void assert_holds(const struct exported *x, const char *part)
{
	if (!strstr(x->text, part))
		assert_string_equal(x->text, part);
}

static unsigned count(const struct exported *x, const char *part)
{
	unsigned found = 0;

	for (const char *at = x->text; (at = strstr(at, part)); at++)
		found++;
	return found;
}

static void functions_have_their_own_weight_and_that_of_all_they_call(void **state)
{
	struct exported x = exported_make("dot", sample_tables(), FIGURE_PEAK);

	(void)state;
	assert_holds(&x, "label=\"app (pid 42): peak 1,000 bytes (100.00%)\\l\";\n");
	assert_holds(&x, "label=\"table_new\\napp\\nself 950 bytes (95.00%)\\n"
			 "total 950 bytes (95.00%)\"");
	assert_holds(&x, "label=\"save\\napp\\nself 50 bytes (5.00%)\\ntotal 300 bytes (30.00%)\"");
	assert_holds(&x, "[label=\" 250 bytes (25.00%)\", penwidth=1.88, weight=26];");
	assert_int_equal(count(&x, " -> "), 4);
	free(x.text);
	x = exported_make("dot", sample_tables(), FIGURE_CALLS);
	assert_holds(&x, "): calls 10 blocks (100.00%)");
	free(x.text);
}

static void recursion_counts_once(void **state)
{
	struct profile *p = sample_new();
	uint32_t node = 0;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		node = sample_node(p, node, i % 2 ? "b" : "a", 1);
	sample_site(p, node, 100, 1);
	struct exported x = exported_make("dot", p, FIGURE_PEAK);
	assert_int_equal(count(&x, "total 100 bytes (100.00%)"), 2);
	assert_int_equal(count(&x, " -> "), 2);
	assert_int_equal(count(&x, "[label=\" 100 bytes (100.00%)\""), 2);
	free(x.text);
}

/* Of 300 functions that call one each, the largest stay, and edges pass over what lies between. */
static void what_is_too_much_is_left_out_and_stated(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		char name[16];
		snprintf(name, sizeof(name), "caller%03u", i);
		uint32_t caller = sample_node(p, root, name, 1);
		snprintf(name, sizeof(name), "leaf%03u", i);
		sample_site(p, sample_node(p, caller, name, 1), i < 100 ? 1000 : 1, 1);
	}
	struct exported x = exported_make("dot", p, FIGURE_PEAK);
	assert_int_equal(count(&x, "tooltip="), 100);
	/* 60 leaves of 1,000 bytes stay, 40 and the 200 small ones go. */
	assert_holds(&x, "\\lleft out: 501 small functions, which allocate 40,200 bytes (40.12%) "
			 "themselves, and 0 small edges\\l\";");
	/* main and 39 of the callers stay: the other leaves have main for theirs. */
	assert_int_equal(count(&x, "style=dashed"), 21);
	free(x.text);
}

static void small_edges_go_but_each_function_keeps_its_largest(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);
	uint32_t big = sample_node(p, root, "big", 1);

	(void)state;
	sample_site(p, big, 100000, 1);
	for (unsigned i = 0; i < 600; i++) {
		uint32_t direct = sample_node(p, i < 300 ? root : big, "shared", 1);
		sample_site(p, direct, 1, 1);
	}
	sample_site(p, sample_node(p, sample_node(p, big, "big", 2), "big", 3), 5, 1);
	struct exported x = exported_make("dot", p, FIGURE_PEAK);
	assert_holds(&x, "1 small edge\\l");
	assert_int_equal(count(&x, " -> "), 3);
	free(x.text);
}

static void names_are_quoted_and_shortened(void **state)
{
	struct profile *p = sample_new();
	char name[201];

	(void)state;
	memset(name, 'n', 200);
	name[200] = '\0';
	sample_site(p, sample_node(p, 0, "a\"b\\n<&lt;>\xc3\xa9\n", 1), 8, 1);
	sample_site(p, sample_node(p, 0, name, 1), 8, 1);
	struct exported x = exported_make("dot", p, FIGURE_PEAK);
	assert_holds(&x, "[label=\"a\\\"b\\\\n<&amp;lt;>\xc3\xa9 \\napp\\n");
	name[40] = '\0';
	char *start = mem_format("[label=\"%s\xe2\x80\xa6%.20s\\napp", name, name);
	assert_holds(&x, start);
	free(start);
	name[40] = 'n';
	char *whole = mem_format("tooltip=\"%s\"", name);
	assert_holds(&x, whole);
	free(whole);
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_their_own_weight_and_that_of_all_they_call),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(what_is_too_much_is_left_out_and_stated),
		cmocka_unit_test(small_edges_go_but_each_function_keeps_its_largest),
		cmocka_unit_test(names_are_quoted_and_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
