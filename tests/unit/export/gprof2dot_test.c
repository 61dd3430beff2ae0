/* gprof2dot_test.c -- call chains for gprof2dot. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void chains_of_functions_are_added_up_leaf_first(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 10);

	(void)state;
	sample_site(p, sample_node(p, root, "make", 20), 600, 6);
	sample_site(p, sample_node(p, root, "make", 21), 100, 1);
	sample_site(p, sample_node_in(p, 0, 0, 0), 5, 1);
	exported_assert("gprof2dot", p, FIGURE_CALLS,
			"{\n"
			"  \"version\": 0,\n"
			"  \"costs\": [\n"
			"    {\n"
			"      \"description\": \"calls\",\n"
			"      \"unit\": \"blocks\"\n"
			"    }\n"
			"  ],\n"
			"  \"functions\": [\n"
			"    {\n"
			"      \"name\": \"0x400040\"\n"
			"    },\n"
			"    {\n"
			"      \"name\": \"main\",\n"
			"      \"module\": \"app\"\n"
			"    },\n"
			"    {\n"
			"      \"name\": \"make\",\n"
			"      \"module\": \"app\"\n"
			"    }\n"
			"  ],\n"
			"  \"events\": [\n"
			"    {\n"
			"      \"callchain\": [2,1],\n"
			"      \"cost\": [7]\n"
			"    },\n"
			"    {\n"
			"      \"callchain\": [0],\n"
			"      \"cost\": [1]\n"
			"    }\n"
			"  ]\n"
			"}\n");
}

/* The chain of a stack of one-letter functions, from the root; each is a letter in the result, the
 * leaf first. */
static void assert_chain(const char *stack, const char *expected)
{
	struct profile *p = sample_new();
	char chain[256] = "";
	uint32_t node = 0;

	for (const char *c = stack; *c; c++)
		node = sample_node(p, node, (char[]){*c, '\0'}, 1);
	sample_site(p, node, 8, 1);
	struct exported x = exported_make("gprof2dot", p, FIGURE_PEAK);
	char *at = strstr(x.text, "\"callchain\": [");
	assert_non_null(at);
	at += strlen("\"callchain\": [");
	for (size_t i = 0; *at != ']'; i++)
		chain[i] = (char)('a' + strtoul(at + strspn(at, ", "), &at, 10));
	assert_string_equal(chain, expected);
	free(x.text);
}

static void rounds_of_recursion_that_lead_to_nothing_new_are_left_out(void **state)
{
	(void)state;
	assert_chain("abc", "cba");
	assert_chain("aaaa", "a");
	assert_chain("abac", "caba");
	assert_chain("ababababc", "cba");
	assert_chain("abcabcabcd", "dcba");
	assert_chain("abbbbcbc", "cba");
}

/* b is called by a twice here, but c must not get lost. */
static void no_function_is_lost(void **state)
{
	(void)state;
	assert_chain("abcabd", "dbacba");
	assert_chain("abcabcabd", "dbacba");
}

static void a_chain_without_cost_is_left_out(void **state)
{
	struct exported x = exported_make("gprof2dot", sample_tables(), FIGURE_TEMPORARY);

	(void)state;
	assert_non_null(strstr(x.text, "\"functions\": [],\n  \"events\": []\n"));
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_of_functions_are_added_up_leaf_first),
		cmocka_unit_test(rounds_of_recursion_that_lead_to_nothing_new_are_left_out),
		cmocka_unit_test(no_function_is_lost),
		cmocka_unit_test(a_chain_without_cost_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
