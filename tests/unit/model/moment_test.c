/* moment_test.c -- times as users name them, and what was live then. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/moment.h"
#include "sample.h"

#define MS UINT64_C(1000000)

/* Two sites; points at 100, 200 and 300 ms of 400. The first has 10 bytes from the first point on
 * and 30 at the last, the second 5 at the second point only. At the peak both have 50. */
static struct profile *sample_times(void)
{
	static const struct profile_change changes[] = {
		{0, 0, 10, 1}, {1, 1, 5, 1}, {2, 0, 30, 3}, {2, 1, 0, 0}};
	static const uint64_t live[] = {10, 15, 30}, blocks[] = {1, 2, 3};
	struct profile *p = sample_new();

	p->run.duration_ns = 400 * MS;
	sample_site(p, sample_node(p, 0, "one", 1), 50, 5);
	sample_site(p, sample_node(p, 0, "two", 2), 50, 5);
	p->totals.peak_time_ns = 250 * MS;
	for (unsigned i = 0; i < 3; i++)
		*vec_push(&p->points) = (struct profile_point){.time_ns = (i + 1) * 100 * MS,
							       .live_bytes = live[i],
							       .live_blocks = blocks[i]};
	for (unsigned i = 0; i < 4; i++)
		*vec_push(&p->changes) = changes[i];
	return p;
}

/* The bytes of both sites at a time, and the point that stands for it from 1; 0 for none. */
static void assert_live(const char *time, uint64_t first, uint64_t second, size_t point)
{
	struct profile *p = sample_times();
	struct moment_name name;
	struct moment m;
	struct amount amounts[2];
	struct error e = {0};

	assert_int_equal(moment_parse(time, &name, &e), 0);
	assert_int_equal(moment_find(p, &name, &m, &e), 0);
	moment_fill(p, &m, amounts);
	assert_int_equal(amounts[0].bytes, first);
	assert_int_equal(amounts[1].bytes, second);
	assert_int_equal(moment_get_total(p, &m).bytes, first + second);
	assert_int_equal(m.kind == MOMENT_POINT ? m.point + 1 : 0, point);
	profile_free(p);
}

static void the_last_point_at_or_before_a_time_stands_for_it(void **state)
{
	(void)state;
	assert_live("0.05s", 0, 0, 0);
	assert_live("100ms", 10, 0, 1);
	assert_live("199.9ms", 10, 0, 1);
	assert_live("200000us", 10, 5, 2);
	assert_live("300000000ns", 30, 0, 3);
	assert_live("2h", 30, 0, 3);
	assert_live("0.2", 10, 5, 2);
}

static void percent_is_of_the_recording(void **state)
{
	(void)state;
	assert_live("0%", 0, 0, 0);
	assert_live("50%", 10, 5, 2);
	assert_live("100%", 30, 0, 3);
}

static void names_stand_for_start_peak_and_end(void **state)
{
	(void)state;
	assert_live("@start", 0, 0, 0);
	assert_live("@peak", 50, 50, 0);
	assert_live("@end", 30, 0, 3);
}

static void spans_have_two_ends_which_may_be_left_out(void **state)
{
	struct moment_name names[2];
	struct error e = {0};

	(void)state;
	assert_int_equal(moment_parse_span("1s..2s", names, &e), 0);
	assert_true(names[0].value > 0.99e9 && names[1].value > 1.99e9);
	assert_int_equal(moment_parse_span("..@peak", names, &e), 0);
	assert_int_equal(names[0].kind, MOMENT_AT_START);
	assert_int_equal(names[1].kind, MOMENT_AT_PEAK);
	assert_int_equal(moment_parse_span("10%..", names, &e), 0);
	assert_int_equal(names[1].kind, MOMENT_AT_END);
	const char *span = "@snapshot:one..@snapshot:two";
	assert_int_equal(moment_parse_span(span, names, &e), 0);
	assert_ptr_equal(names[0].text, span + 10);
	assert_int_equal(names[0].text_bytes, 3);
	assert_string_equal(names[1].text, "two");
	assert_int_equal(moment_parse_span("1s", names, &e), -1);
	assert_int_equal(moment_parse_span("@snapshot:..@end", names, &e), -1);
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {"",	  "-1s", "1parsec", "101%",
					    "@x", "1s ", "1.5.2s",  "@snapshot:"};
	struct moment_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct error e = {0};
		assert_int_equal(moment_parse(texts[i], &name, &e), -1);
		assert_true(e.set);
		assert_non_null(strstr(e.text, "@end or @snapshot:NAME"));
	}
}

static void a_name_alone_is_that_of_a_snapshot(void **state)
{
	struct moment_name name, names[2];
	struct error e = {0};

	(void)state;
	assert_int_equal(moment_parse("rss=50M", &name, &e), 0);
	assert_int_equal(name.kind, MOMENT_AT_SNAPSHOT);
	assert_string_equal(name.text, "rss=50M");
	const char *span = "one..two";
	assert_int_equal(moment_parse_span(span, names, &e), 0);
	assert_ptr_equal(names[0].text, span);
	assert_int_equal(names[0].text_bytes, 3);
	assert_string_equal(names[1].text, "two");
}

static void a_name_alone_that_no_snapshot_has_may_be_meant_for_a_time(void **state)
{
	struct profile *p = sample_tables();
	struct moment_name name;
	struct moment m;
	struct error e = {0};

	(void)state;
	*vec_push(&p->points) = (struct profile_point){0};
	assert_int_equal(moment_parse("nan", &name, &e), 0);
	assert_int_equal(moment_find(p, &name, &m, &e), -1);
	assert_string_equal(e.text,
			    "\"nan\" is not a time (1.5s, 200ms, 50%, @start, @peak, @end), "
			    "and there is no snapshot of that name");
	profile_free(p);
}

static void given_no_time_line_then_a_sentence_says_so(void **state)
{
	struct profile *p = sample_tables();
	struct moment_name name = {.kind = MOMENT_AT_END};
	struct moment m;
	struct error e = {0};

	(void)state;
	assert_int_equal(moment_find(p, &name, &m, &e), -1);
	assert_string_equal(e.text, "the profile has no time line");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_point_at_or_before_a_time_stands_for_it),
		cmocka_unit_test(percent_is_of_the_recording),
		cmocka_unit_test(names_stand_for_start_peak_and_end),
		cmocka_unit_test(spans_have_two_ends_which_may_be_left_out),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_name_alone_is_that_of_a_snapshot),
		cmocka_unit_test(a_name_alone_that_no_snapshot_has_may_be_meant_for_a_time),
		cmocka_unit_test(given_no_time_line_then_a_sentence_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
