/* stats_test.c -- the figures of a profile, for scripts and for people. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "report/stats_json.h"
#include "report/stats_text.h"

#include "../model/sample.h"
#include "page.h"

static const struct stats_json_options everything = {.sites = true, .points = true};
static const struct style ascii = {0};

static void print_json(struct page *page, const struct profile *p,
		       const struct stats_json_options *options)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);

	page_open(page);
	stats_json_print(page->out, m, options);
	model_free(m);
}

static void assert_holds(struct page *page, const char *text)
{
	if (!strstr(page_text(page), text))
		fail_msg("no %s in %s", text, page_text(page));
}

static struct profile *busy(void)
{
	struct profile *p = sample_tables();

	p->sizes[0] = (struct profile_bucket){1, 0, 1, 0};
	p->sizes[5] = (struct profile_bucket){4, 80, 2, 40};
	p->sizes[64] = (struct profile_bucket){1, UINT64_C(1) << 63, 0, 0};
	p->size_by_life[5][11] = 2;
	*vec_push(&p->threads) = (struct profile_thread){.tid = 42,
							 .serial = 1,
							 .name = profile_add_string(p, "ma\xffin"),
							 .end_ns = UINT64_MAX,
							 .allocations = 10,
							 .allocated_bytes = 1000,
							 .size_min = 50,
							 .size_max = 100,
							 .lifetime_min_ns = UINT64_MAX};
	*vec_push(&p->points) = (struct profile_point){.time_ns = 7, .live_bytes = 1000};
	return p;
}

static void every_promised_name_is_in_the_object(void **state)
{
	static const char *const names[] = {
		"program",
		"command",
		"pid",
		"exit_code",
		"exit_signal",
		"duration_ns",
		"allocations",
		"frees",
		"allocated_bytes",
		"freed_bytes",
		"peak_bytes",
		"peak_blocks",
		"peak_time_ns",
		"leaked_bytes",
		"leaked_blocks",
		"temporary_allocations",
		"reallocations",
		"failed_allocations",
		"threads",
		"stacks",
		"mode",
		"lost_events",
		"truncated_stacks",
		"foreign_frees",
		"reentrant_calls",
		"own_memory_bytes",
		"rss_peak_bytes",
		"end",
		"unwind_failures",
		"children_not_recorded",
		"damaged",
		"size_histogram",
		"size_by_lifetime",
		"thread_list",
	};
	struct profile *p = sample_new();
	struct page page;
	char key[64];

	(void)state;
	print_json(&page, p, &(struct stats_json_options){0});
	assert_true(page_is_json(&page));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(key, sizeof(key), "\n  \"%s\": ", names[i]);
		assert_holds(&page, key);
	}
	assert_null(strstr(page_text(&page), "\"sites\""));
	assert_null(strstr(page_text(&page), "\"points\""));
	page_close(&page);
	profile_free(p);
}

static void lists_hold_what_is_not_empty(void **state)
{
	struct profile *p = busy();
	struct page page;

	(void)state;
	print_json(&page, p, &everything);
	assert_true(page_is_json(&page));
	assert_holds(&page, "    {\n      \"min\": 16,\n      \"max\": 31,\n      \"count\": 4,\n"
			    "      \"bytes\": 80,\n      \"live_count\": 2,\n"
			    "      \"live_bytes\": 40\n    }");
	assert_holds(&page, "\"min\": 9223372036854775808,\n      \"max\": 18446744073709551615");
	assert_holds(&page, "\"size_min\": 16,\n      \"size_max\": 31,\n"
			    "      \"lifetime_min_ns\": 1024,\n      \"lifetime_max_ns\": 2047,\n"
			    "      \"count\": 2\n");
	assert_holds(&page, "\"name\": \"ma\xef\xbf\xbdin\"");
	assert_holds(&page, "\"end_ns\": null");
	assert_holds(&page, "\"time_ns\": 7");
	assert_holds(&page, "\"peak_bytes\": 600");
	assert_holds(&page, "\"stack\": [\n        \"table_new (/src/app.c:30)\",\n"
			    "        \"load (/src/app.c:20)\",\n"
			    "        \"main (/src/app.c:10)\"\n      ]");
	page_close(&page);
	profile_free(p);
}

static void given_a_way_to_end_then_code_and_signal_say_so(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	p->run.exit_code = 3;
	print_json(&page, p, &everything);
	assert_holds(&page, "\"end\": \"exited\",\n  \"exit_code\": 3,\n  \"exit_signal\": null");
	page_close(&page);

	p->run.end = PROFILE_END_SIGNALED;
	p->run.exit_signal = 11;
	print_json(&page, p, &everything);
	assert_holds(&page,
		     "\"end\": \"signaled\",\n  \"exit_code\": null,\n  \"exit_signal\": 11");
	page_close(&page);

	p->run.end = PROFILE_END_UNKNOWN;
	p->run.exit_code = -1;
	print_json(&page, p, &everything);
	assert_holds(&page,
		     "\"end\": \"unknown\",\n  \"exit_code\": null,\n  \"exit_signal\": null");
	page_close(&page);
	profile_free(p);
}

static void given_a_damaged_file_then_the_object_says_what_is_missing(void **state)
{
	struct profile *p = profile_new();
	struct page page;

	(void)state;
	p->damaged = true;
	strcpy(p->damage, "no \"sites\"");
	print_json(&page, p, &everything);
	assert_true(page_is_json(&page));
	assert_holds(&page, "\"damaged\": true,\n  \"damage\": \"no \\\"sites\\\"\"");
	page_close(&page);
	profile_free(p);
}

static void people_get_bars_for_sizes_and_a_table_of_threads(void **state)
{
	struct profile *p = busy();
	struct page page;

	(void)state;
	page_open(&page);
	stats_text_print(page.out, p, &ascii);
	profile_free(p);
	assert_holds(&page,
		     "\n"
		     "Sizes\n"
		     "       from      below    allocations      bytes         leaked\n"
		     "        0 B        1 B              1        0 B              1  ########\n"
		     "       16 B       32 B              4       80 B              2  "
		     "################################\n"
		     "   8.00 EiB   and more              1   8.00 EiB              0  ########\n"
		     "\n"
		     "Threads\n");
	assert_holds(&page,
		     "       42             10     1000 B              0        0 B        0 B"
		     "        0 B              0  ma\\xffin\n");
	page_close(&page);
}

static void given_more_than_twenty_threads_then_the_others_are_summed_up(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	for (uint32_t i = 1; i <= 23; i++)
		*vec_push(&p->threads) = (struct profile_thread){
			.tid = 1000 + i, .serial = i, .allocations = 1, .allocated_bytes = i};
	page_open(&page);
	stats_text_print(page.out, p, &ascii);
	profile_free(p);
	assert_holds(&page, "     1023  ");
	assert_null(strstr(page_text(&page), "     1003  "));
	assert_holds(&page, "  ... 3 more threads: 3 allocations, 6 B\n");
	page_close(&page);
}

static void stacks_that_were_looked_at_have_a_table_and_members(void **state)
{
	struct profile *p = busy();
	struct page page;

	(void)state;
	p->threads.at[0].stack_reserved_bytes = 8 << 20;
	p->threads.at[0].stack_resident_bytes = 12 << 10;
	p->threads.at[0].stack_deepest_bytes = 3 << 20;
	*vec_push(&p->threads) = (struct profile_thread){.tid = 43, .serial = 2};
	page_open(&page);
	stats_text_print(page.out, p, &ascii);
	assert_holds(&page, "\nStacks\n"
			    "      tid    deepest   resident   reserved  name\n"
			    "       42   3.00 MiB   12.0 KiB   8.00 MiB  ma\\xffin\n");
	assert_null(strstr(strstr(page_text(&page), "\nStacks\n"), "  43  "));
	page_close(&page);
	print_json(&page, p, &everything);
	profile_free(p);
	assert_holds(&page, "\"stack_reserved_bytes\": 8388608,\n"
			    "      \"stack_resident_bytes\": 12288,\n"
			    "      \"stack_deepest_bytes\": 3145728\n");
	assert_null(strstr(strstr(page_text(&page), "\"tid\": 43"), "stack_"));
	page_close(&page);
}

static void given_no_stack_that_was_looked_at_then_there_is_no_table(void **state)
{
	struct profile *p = busy();
	struct page page;

	(void)state;
	page_open(&page);
	stats_text_print(page.out, p, &ascii);
	profile_free(p);
	assert_null(strstr(page_text(&page), "Stacks"));
	page_close(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_promised_name_is_in_the_object),
		cmocka_unit_test(lists_hold_what_is_not_empty),
		cmocka_unit_test(given_a_way_to_end_then_code_and_signal_say_so),
		cmocka_unit_test(given_a_damaged_file_then_the_object_says_what_is_missing),
		cmocka_unit_test(people_get_bars_for_sizes_and_a_table_of_threads),
		cmocka_unit_test(given_more_than_twenty_threads_then_the_others_are_summed_up),
		cmocka_unit_test(stacks_that_were_looked_at_have_a_table_and_members),
		cmocka_unit_test(given_no_stack_that_was_looked_at_then_there_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
