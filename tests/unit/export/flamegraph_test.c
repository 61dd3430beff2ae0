/* flamegraph_test.c -- flame graphs as SVG. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void assert_has(const struct exported *x, const char *text)
{
	if (!strstr(x->text, text))
		fail_msg("no \"%s\" in: %s", text, x->text);
}

static size_t count_boxes(const struct exported *x)
{
	size_t count = 0;

	for (const char *at = x->text; (at = strstr(at, "<g class=\"f\"")); at++)
		count++;
	return count;
}

static void boxes_are_as_wide_as_their_share_and_have_titles(void **state)
{
	struct exported x = exported_make("flamegraph", sample_tables(), FIGURE_PEAK);

	(void)state;
	/* app, main, load, table_new, save, table_new: lines of a function are one. */
	assert_int_equal(count_boxes(&x), 6);
	assert_has(&x, ">app: held at the peak</text>");
	assert_has(&x, ">1,000 bytes in 10 blocks</text>");
	assert_has(&x, "data-total=\"1000\" data-unit=\"bytes\"");
	assert_has(&x, "<g class=\"f\" data-v=\"700\"><title>load\n/src/app\n"
		       "700 bytes in 7 blocks, 70.00 %</title>"
		       "<rect x=\"10.0000\" y=\"100\" width=\"826.0000\"");
	assert_has(&x, "<g class=\"f\" data-v=\"300\"><title>save\n/src/app\n"
		       "300 bytes in 3 blocks, 30.00 %</title>"
		       "<rect x=\"836.0000\" y=\"100\" width=\"354.0000\"");
	free(x.text);
}

static void counts_are_blocks(void **state)
{
	struct exported x = exported_make("flamegraph", sample_tables(), FIGURE_CALLS);

	(void)state;
	assert_has(&x, "data-total=\"10\" data-unit=\"blocks\"");
	assert_has(&x, "\n7 blocks, 70.00 %</title>");
	free(x.text);
}

static void markup_in_names_is_text(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	p->run.program = profile_add_string(p, "a]]><b>");
	sample_site(p, sample_node(p, 0, "f<int&>::g\"\x01\xff", 1), 8, 1);
	struct exported x = exported_make("flamegraph", p, FIGURE_PEAK);
	assert_has(&x, "<title>f&lt;int&amp;&gt;::g\" \xef\xbf\xbd\n");
	assert_has(&x, ">f&lt;int&amp;&gt;::g\" \xef\xbf\xbd</text>");
	assert_has(&x, "<title>a]]&gt;&lt;b&gt;\n");
	free(x.text);
}

static void long_names_are_cut_between_characters(void **state)
{
	struct profile *p = sample_new();
	char name[4001];

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[sizeof(name) - 1] = '\0';
	sample_site(p, sample_node(p, 0, name, 1), 8, 1);
	struct exported x = exported_make("flamegraph", p, FIGURE_PEAK);
	/* 160 characters fit into the box; 1,000 into the title. */
	const char *text = strstr(x.text, "y=\"95\">\xc3\xa9");
	assert_non_null(text);
	const char *end = strstr(text, "..</text>");
	assert_non_null(end);
	assert_int_equal(end - (text + 7), 2 * 158);
	assert_has(&x, "\xc3\xa9...\n/src/app\n");
	free(x.text);
}

static void what_cannot_be_seen_is_left_out_and_counted(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);

	(void)state;
	sample_site(p, sample_node(p, root, "large", 1), 100000, 1);
	sample_site(p, sample_node(p, root, "tiny", 1), 1, 1);
	struct exported x = exported_make("flamegraph", p, FIGURE_PEAK);
	assert_int_equal(count_boxes(&x), 3);
	assert_has(&x, ">100,001 bytes in 2 blocks; left out as too narrow to see: 1</text>");
	free(x.text);
}

static void an_empty_graph_says_so(void **state)
{
	struct exported x = exported_make("flamegraph", sample_new(), FIGURE_LEAKED);

	(void)state;
	assert_int_equal(count_boxes(&x), 0);
	assert_has(&x, ">app: not freed when the program ended</text>");
	assert_has(&x, ">nothing</text>");
	free(x.text);
}

static void nothing_comes_from_elsewhere(void **state)
{
	struct exported x = exported_make("flamegraph", sample_tables(), FIGURE_PEAK);

	(void)state;
	assert_null(strstr(x.text, "href"));
	assert_null(strstr(x.text, "src="));
	assert_null(strstr(x.text, "url("));
	assert_null(strstr(x.text, "@import"));
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_are_as_wide_as_their_share_and_have_titles),
		cmocka_unit_test(counts_are_blocks),
		cmocka_unit_test(markup_in_names_is_text),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(what_cannot_be_seen_is_left_out_and_counted),
		cmocka_unit_test(an_empty_graph_says_so),
		cmocka_unit_test(nothing_comes_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
