/* tree_json_test.c -- call trees and functions as JSON. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "report/tree_json.h"

#include "../model/sample.h"
#include "page.h"

static const struct model_options usual = {0};

static void print(struct page *page, struct profile *p, const struct tree_view *view)
{
	struct model *m = model_new(p, &usual);
	struct tree *t = tree_build(m, view);

	page_open(page);
	tree_json_print(page->out, t);
	tree_free(t);
	model_free(m);
	profile_free(p);
}

static void given_two_stacks_then_nodes_name_their_parents_and_what_is_omitted(void **state)
{
	static const struct tree_view view = {.threshold = 50.0};
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, 0, "big", 1), 75, 3);
	sample_site(p, sample_node_in(p, 0, 1, 0), 25, 1);
	print(&page, p, &view);
	assert_true(page_is_json(&page));
	page_assert(&page, "{\n"
			   "  \"program\": \"app\",\n"
			   "  \"pid\": 42,\n"
			   "  \"figure\": \"peak\",\n"
			   "  \"total_bytes\": 100,\n"
			   "  \"total_blocks\": 4,\n"
			   "  \"direction\": \"inverted\",\n"
			   "  \"threshold\": 50.000000,\n"
			   "  \"omitted_count\": 1,\n"
			   "  \"omitted_bytes\": 25,\n"
			   "  \"omitted_blocks\": 1,\n"
			   "  \"nodes\": [\n"
			   "    {\n"
			   "      \"id\": 1,\n"
			   "      \"parent\": 0,\n"
			   "      \"depth\": 1,\n"
			   "      \"function\": \"big\",\n"
			   "      \"file\": \"/src/app.c\",\n"
			   "      \"line\": 1,\n"
			   "      \"module\": \"/src/app\",\n"
			   "      \"offset\": null,\n"
			   "      \"inlined\": false,\n"
			   "      \"bytes\": 75,\n"
			   "      \"blocks\": 3,\n"
			   "      \"share\": 75.000000,\n"
			   "      \"hot\": true,\n"
			   "      \"self_bytes\": 75,\n"
			   "      \"self_blocks\": 3,\n"
			   "      \"omitted_count\": 0,\n"
			   "      \"omitted_bytes\": 0,\n"
			   "      \"omitted_blocks\": 0\n"
			   "    }\n"
			   "  ]\n"
			   "}\n");
}

static void an_unknown_function_is_null_and_has_an_offset(void **state)
{
	static const struct tree_view all = {0};
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, 0), 25, 1);
	print(&page, p, &all);
	assert_true(page_is_json(&page));
	assert_non_null(strstr(page_text(&page), "\"function\": null"));
	assert_non_null(strstr(page_text(&page), "\"offset\": 16"));
	page_close(&page);
}

static void the_deepest_stack_is_still_readable_json(void **state)
{
	static const struct tree_view all = {0};
	struct profile *p = sample_new();
	uint32_t frame = sample_frame(p, "deep", "/src/app.c", 1, 0);
	uint32_t node = 0;
	struct page page;

	(void)state;
	for (unsigned i = 0; i < 2 * MODEL_STACK_MAX; i++)
		node = sample_node_in(p, node, 1, frame);
	sample_site(p, node, 8, 1);
	print(&page, p, &all);
	assert_true(page_is_json(&page));
	page_close(&page);
}

static void functions_are_listed_with_self_and_total(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	struct flat *f = flat_build(m, FIGURE_CALLS);
	struct page page;

	(void)state;
	page_open(&page);
	tree_json_print_flat(page.out, f);
	assert_true(page_is_json(&page));
	assert_non_null(strstr(page_text(&page), "\"figure\": \"calls\""));
	assert_non_null(strstr(page_text(&page), "\"function\": \"save\",\n"
						 "      \"file\": \"/src/app.c\",\n"
						 "      \"module\": \"/src/app\",\n"
						 "      \"offset\": null,\n"
						 "      \"self_bytes\": 50,\n"
						 "      \"self_blocks\": 1,\n"
						 "      \"bytes\": 300,\n"
						 "      \"blocks\": 3\n"));
	page_close(&page);
	flat_free(f);
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			given_two_stacks_then_nodes_name_their_parents_and_what_is_omitted),
		cmocka_unit_test(an_unknown_function_is_null_and_has_an_offset),
		cmocka_unit_test(the_deepest_stack_is_still_readable_json),
		cmocka_unit_test(functions_are_listed_with_self_and_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
