/* check_text_test.c -- which limits hold, on the page, as JSON and as XML. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "report/check_json.h"
#include "report/check_junit.h"
#include "report/check_text.h"

#include "../model/sample.h"
#include "page.h"

static const struct style plain = {0};

struct checked {
	struct profile *profile;
	struct model *model;
	struct check *check;
};

static struct checked make(struct profile *p)
{
	static const struct model_options usual = {0};
	struct check_request request = {.stacks = 1};
	struct checked c = {.profile = p, .model = model_new(p, &usual)};

	request.limits[CHECK_PEAK] = (struct check_limit){.set = true, .value = UINT64_C(1) << 30};
	request.limits[CHECK_LEAKED] = (struct check_limit){.set = true, .value = 999};
	request.limits[CHECK_TEMPORARY] =
		(struct check_limit){.set = true, .relative = true, .value = 2500};
	c.check = check_build(c.model, &request);
	return c;
}

static void release(struct checked *c)
{
	check_free(c->check);
	model_free(c->model);
	profile_free(c->profile);
}

static void limits_are_listed_with_the_stacks_behind_a_failure(void **state)
{
	struct checked c = make(sample_tables());
	struct page page;

	(void)state;
	page_open(&page);
	check_text_print(page.out, c.check, &plain);
	release(&c);
	page_assert(&page, "ok      complete profile: yes\n"
			   "ok      lost events at most 0: 0\n"
			   "ok      peak at most 1.00 GiB: 1000 B\n"
			   "FAILED  leaked at most 999 B: 1000 B\n"
			   "          600 B in 6 blocks\n"
			   "            table_new (app.c:30)\n"
			   "            load (app.c:20)\n"
			   "            main (app.c:10)\n"
			   "ok      temporary allocations at most 0.25% of all: 0 of 10 (0.00%)\n"
			   "app: 1 of 5 limits does not hold\n");
}

static void recursion_is_named_once(void **state)
{
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);
	struct page page;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		node = sample_node(p, node, "descend", 7);
	for (unsigned i = 0; i < 3; i++)
		node = sample_node(p, sample_node(p, node, "even", 8), "odd", 9);
	sample_site(p, node, 5000, 1);
	struct checked c = make(p);
	page_open(&page);
	check_text_print_stacks(page.out, c.check, &c.check->results.at[3], "", false);
	release(&c);
	page_assert(&page, "4.88 KiB in 1 block\n"
			   "  odd (app.c:9) [2 functions in a cycle, 3 times]\n"
			   "  even (app.c:8)\n"
			   "  descend (app.c:7) [5 in a row]\n"
			   "  main (app.c:1)\n");
}

static void given_a_limit_missed_by_little_then_bytes_are_exact(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	sample_site(p, sample_node(p, 0, "main", 1), (UINT64_C(1) << 30) + 1, 1);
	struct checked c = make(p);
	page_open(&page);
	check_text_print(page.out, c.check, &plain);
	assert_non_null(strstr(page_text(&page), "at most 1.00 GiB: 1,073,741,825 bytes\n"));
	page_close(&page);
	release(&c);
}

static void json_is_json(void **state)
{
	struct checked c = make(sample_tables());
	struct page page;

	(void)state;
	page_open(&page);
	check_json_print(page.out, c.check);
	assert_true(page_is_json(&page));
	assert_non_null(strstr(page_text(&page), "\"failures\": 1"));
	assert_non_null(strstr(page_text(&page), "\"limit_percent\": 0.250000"));
	page_close(&page);
	release(&c);
}

/* True if python3 reads the page as XML with this many failures. */
static bool is_xml(struct page *p, const char *failures)
{
	char command[256];

	if (system("command -v python3 >/dev/null 2>&1") != 0)
		return true;
	(void)snprintf(command, sizeof(command),
		       "python3 -c 'import sys, xml.etree.ElementTree as e; "
		       "r = e.fromstring(sys.stdin.buffer.read()); "
		       "sys.exit(len(list(r.iter(\"failure\"))) != %s)'",
		       failures);
	FILE *reader = popen(command, "w");
	assert_non_null(reader);
	fputs(page_text(p), reader);
	return pclose(reader) == 0;
}

static void xml_is_xml_whatever_functions_are_called(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	p->run.program = profile_add_string(p, "<a & \"b\">\x01\xff");
	uint32_t node = sample_node(p, 0, "f<int>(\"]]>\" & '\x02\x1b[31m \xc3\x28')", 1);
	sample_site(p, sample_node(p, node, "caf\xc3\xa9\xef\xbf\xbe", 2), 5000, 1);
	struct checked c = make(p);
	page_open(&page);
	check_junit_print(page.out, c.check);
	assert_true(is_xml(&page, "1"));
	assert_non_null(strstr(page_text(&page), "f&lt;int&gt;(&quot;]]&gt;&quot; &amp; '"));
	page_close(&page);
	release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_listed_with_the_stacks_behind_a_failure),
		cmocka_unit_test(recursion_is_named_once),
		cmocka_unit_test(given_a_limit_missed_by_little_then_bytes_are_exact),
		cmocka_unit_test(json_is_json),
		cmocka_unit_test(xml_is_xml_whatever_functions_are_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
