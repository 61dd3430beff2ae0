/* dhat_test.c -- all figures and lifetimes for DHAT's viewer. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

#define MS UINT64_C(1000000)

static void assert_holds(struct profile *p, const char *part)
{
	struct exported x = exported_make("dhat", p, FIGURE_PEAK);

	if (!strstr(x.text, part))
		assert_string_equal(x.text, part);
	free(x.text);
}

static void the_whole_file(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 10);

	(void)state;
	p->totals.peak_time_ns = 700;
	*sample_site(p, sample_node(p, root, "make", 30), 0, 0) = (struct profile_site){
		.node = 2,
		.allocations = 10,
		.allocated_bytes = 100,
		.frees = 8,
		.freed_bytes = 80,
		.live_blocks = 2,
		.live_bytes = 20,
		.at_peak_blocks = 4,
		.at_peak_bytes = 40,
		.own_peak_bytes = 50,
		.lifetime_sum_ns = 12345,
	};
	exported_assert("dhat", p, FIGURE_PEAK,
			"{\n"
			"  \"dhatFileVersion\": 2,\n"
			"  \"mode\": \"heap\",\n"
			"  \"verb\": \"Allocated\",\n"
			"  \"bklt\": true,\n"
			"  \"bkacc\": false,\n"
			"  \"tu\": \"ns\",\n"
			"  \"Mtu\": \"ms\",\n"
			"  \"tuth\": 10000,\n"
			"  \"cmd\": \"./app -x\",\n"
			"  \"pid\": 42,\n"
			"  \"te\": 1500000000,\n"
			"  \"tg\": 700,\n"
			"  \"pps\": [\n"
			"    {\n"
			"      \"tb\": 100,\n"
			"      \"tbk\": 10,\n"
			"      \"tl\": 12345,\n"
			"      \"mb\": 50,\n"
			"      \"mbk\": 5,\n"
			"      \"gb\": 40,\n"
			"      \"gbk\": 4,\n"
			"      \"eb\": 20,\n"
			"      \"ebk\": 2,\n"
			"      \"fs\": [2,1]\n"
			"    }\n"
			"  ],\n"
			"  \"ftbl\": [\n"
			"    \"[root]\",\n"
			"    \"0x10: main (app.c:10)\",\n"
			"    \"0x20: make (app.c:30)\"\n"
			"  ]\n"
			"}\n");
}

/* Two calls on one line: addresses differ, the frames that are shown do not. */
static void sites_that_read_the_same_are_one(void **state)
{
	struct profile *p = sample_new();
	uint32_t frame = sample_frame(p, "make", "/src/app.c", 30, 0);

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, frame), 100, 1);
	sample_site(p, sample_node_in(p, 0, 1, frame), 50, 2)->own_peak_bytes = 170;
	struct exported x = exported_make("dhat", p, FIGURE_PEAK);
	const char *first = strstr(x.text, "\"fs\": [1]");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\"fs\""));
	assert_non_null(strstr(x.text, "\"tb\": 150,\n      \"tbk\": 3,"));
	/* 170 bytes at 25 each are more than the 150 that both held at the peak. */
	assert_non_null(strstr(x.text, "\"mb\": 170,\n      \"mbk\": 7,"));
	assert_non_null(strstr(x.text, "\"gb\": 150,\n      \"gbk\": 3,"));
	free(x.text);
}

static void add_state(struct profile *p, uint64_t time_ns, uint64_t blocks)
{
	*vec_push(&p->points) = (struct profile_point){.time_ns = time_ns};
	*vec_push(&p->changes) = (struct profile_change){.point = (uint32_t)p->points.count - 1,
							 .live_bytes = 10 * blocks,
							 .live_blocks = blocks};
}

/* Live blocks by ms: 5 at 100, 2 at 200, 3 at 1000; the end is at 1500. */
static void leaked_blocks_lived_since_the_site_held_as_many(void **state)
{
	struct profile *p = sample_new();
	struct profile_site *site = sample_site(p, sample_node(p, 0, "leak", 1), 30, 3);

	(void)state;
	site->lifetime_sum_ns = 7;
	add_state(p, 100 * MS, 5);
	add_state(p, 200 * MS, 2);
	add_state(p, 1000 * MS, 3);
	/* 3 for 500 ms, 2 for 800 ms and for the 100 ms before. */
	assert_holds(p, "\"tl\": 3300000007,");
}

static void what_is_not_known_of_a_frame_is_left_out(void **state)
{
	struct profile *p = sample_new();
	uint32_t line = sample_frame(p, "no_line", "/src/app.c", 0, 0);
	uint32_t bare = sample_node_in(p, sample_node_in(p, 0, 1, line), 1, 0);

	(void)state;
	sample_site(p, sample_node_in(p, bare, 0, 0), 8, 1);
	sample_site(p, 0, 4, 1);
	assert_holds(p, "  \"ftbl\": [\n"
			"    \"[root]\",\n"
			"    \"0x400030: ?\?\?\",\n"
			"    \"0x20: ?\?\? (in /src/app)\",\n"
			"    \"0x0: [no stack]\",\n"
			"    \"0x10: no_line (app.c)\"\n");
}

static void odd_names_are_good_json(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "a\"\\b\n\xff", 1), 8, 1);
	assert_holds(p, "\"0x10: a\\\"\\\\b \xef\xbf\xbd (app.c:1)\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_file),
		cmocka_unit_test(sites_that_read_the_same_are_one),
		cmocka_unit_test(leaked_blocks_lived_since_the_site_held_as_many),
		cmocka_unit_test(what_is_not_known_of_a_frame_is_left_out),
		cmocka_unit_test(odd_names_are_good_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
