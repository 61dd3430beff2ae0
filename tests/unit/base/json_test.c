/* json_test.c -- the JSON writer writes JSON. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/json.h"

struct page {
	struct json json;
	char *text;
	size_t bytes;
};

static void open_page(struct page *p)
{
	*p = (struct page){0};
	p->json.out = open_memstream(&p->text, &p->bytes);
	assert_non_null(p->json.out);
}

static void assert_page(struct page *p, const char *expected)
{
	fclose(p->json.out);
	assert_string_equal(p->text, expected);
	free(p->text);
}

static void containers_nest_with_commas_between_elements_only(void **state)
{
	struct page p;

	(void)state;
	open_page(&p);
	json_begin_object(&p.json, NULL);
	json_add_uint(&p.json, "a", UINT64_MAX);
	json_begin_list(&p.json, "b");
	json_begin_object(&p.json, NULL);
	json_end_object(&p.json);
	json_add_int(&p.json, NULL, -1);
	json_end_list(&p.json);
	json_add_bool(&p.json, "c", true);
	json_add_null(&p.json, "d");
	json_add_real(&p.json, "e", 12.5);
	json_end_object(&p.json);
	assert_page(&p, "{\n"
			"  \"a\": 18446744073709551615,\n"
			"  \"b\": [\n"
			"    {},\n"
			"    -1\n"
			"  ],\n"
			"  \"c\": true,\n"
			"  \"d\": null,\n"
			"  \"e\": 12.500000\n"
			"}\n");
}

static void a_dense_list_stays_on_its_line(void **state)
{
	struct page p;

	(void)state;
	open_page(&p);
	json_begin_object(&p.json, NULL);
	json_begin_list(&p.json, "a");
	p.json.dense = true;
	json_add_uint(&p.json, NULL, 0);
	json_add_uint(&p.json, NULL, 10);
	json_begin_object(&p.json, NULL);
	json_add_uint(&p.json, "b", 1);
	json_end_object(&p.json);
	json_end_list(&p.json);
	p.json.dense = false;
	json_add_null(&p.json, "c");
	json_end_object(&p.json);
	assert_page(&p, "{\n"
			"  \"a\": [0,10,{\"b\": 1}],\n"
			"  \"c\": null\n"
			"}\n");
}

static void strings_are_escaped_and_bad_bytes_replaced(void **state)
{
	struct page p;

	(void)state;
	open_page(&p);
	json_begin_list(&p.json, NULL);
	json_add_string(&p.json, NULL, "q\" b\\ n\n t\t e\033 d\177");
	json_add_string(&p.json, NULL, "\xc3\xa9 \xff \xed\xa0\x80");
	json_add_string(&p.json, NULL, "\xc2\x9b \xe2\x80\xae"); /* CSI; from right to left */
	json_end_list(&p.json);
	assert_page(&p, "[\n"
			"  \"q\\\" b\\\\ n\\n t\\t e\\u001b d\\u007f\",\n"
			"  \"\xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\n"
			"  \"\\u009b \\u202e\"\n"
			"]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_nest_with_commas_between_elements_only),
		cmocka_unit_test(a_dense_list_stays_on_its_line),
		cmocka_unit_test(strings_are_escaped_and_bad_bytes_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
