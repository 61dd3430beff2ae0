/* rss_report_test.c -- how looks at resident pages are called, and asked for. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "report/rss_report.h"

#define MS UINT64_C(1000000)

static void add_look(struct profile *p, enum profile_reason reason, uint64_t time_ns, uint64_t rss)
{
	*vec_push(&p->surveys) =
		(struct profile_survey){.reason = reason, .time_ns = time_ns, .rss_bytes = rss};
}

static void add_snapshot_look(struct profile *p, const char *name, uint64_t time_ns, uint64_t rss)
{
	struct profile_snapshot s = {.name = profile_add_string(p, name), .time_ns = time_ns};

	*vec_push(&p->snapshots) = s;
	add_look(p, PROFILE_REASON_SNAPSHOT, time_ns, rss);
	p->surveys.at[p->surveys.count - 1].snapshot = (uint32_t)p->snapshots.count;
}

/* A program that was looked at while it grew, and was largest when it ended. */
static struct profile *make_growing(void)
{
	struct profile *p = profile_new();

	p->run.duration_ns = 1000 * MS;
	add_look(p, PROFILE_REASON_PEAK, 767 * MS + 400000, 5000);
	add_look(p, PROFILE_REASON_END, 1000 * MS, 9000);
	return p;
}

static void assert_shown(const struct profile *p, size_t survey, const char *expected)
{
	const struct style style = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	rss_report_print_moment(out, p, survey, &style);
	fputc('\n', out);
	rss_report_print_others(out, p, survey);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_found(const struct profile *p, const char *text, long expected)
{
	struct error e = {0};

	assert_int_equal(pinning_find(p, text, &e), expected);
	assert_int_equal(e.set, expected < 0);
}

static void what_is_offered_is_another_look(void **state)
{
	struct profile *p = make_growing();

	(void)state;
	assert_shown(p, 1,
		     "at the end, 1.00 s, where the resident size was highest of 2 looks\n"
		     "  other looks: --at 767ms\n");
	assert_shown(p, 0, "at a peak of the resident size, 767 ms\n  other looks: --at @peak\n");
	p->surveys.at[0].rss_bytes = 10000;
	assert_shown(p, 1, "at the end, 1.00 s\n  other looks: --at @peak\n");
	assert_shown(p, 0, "at the peak of the resident size, 767 ms\n  other looks: --at @end\n");
	add_snapshot_look(p, "late", 1000 * MS, 10);
	assert_shown(p, 0,
		     "at the peak of the resident size, 767 ms\n"
		     "  other looks: --at @end, --at NAME or number of 1 snapshot\n");
	profile_free(p);
}

static void a_time_means_the_nearest_look(void **state)
{
	struct profile *p = make_growing();

	(void)state;
	assert_found(p, "@peak", 1);
	assert_found(p, "@end", 1);
	assert_found(p, "767ms", 0);
	assert_found(p, "767400000ns", 0);
	assert_found(p, "0.9s", 1);
	assert_found(p, "50%", 0);
	assert_found(p, "1h", 1);
	assert_found(p, "2", -1);
	assert_found(p, "1.", -1);
	assert_found(p, "", -1);
	assert_found(p, "soon", -1);
	assert_found(p, "@start", -1);
	profile_free(p);
}

static void a_snapshot_that_is_called_like_a_time_comes_first(void **state)
{
	struct profile *p = make_growing();

	(void)state;
	add_snapshot_look(p, "767ms", 1001 * MS, 10);
	assert_found(p, "767ms", 2);
	assert_found(p, "1", 2);
	assert_found(p, "768ms", 0);
	profile_free(p);
}

static void looks_that_are_close_have_times_of_their_own(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	add_snapshot_look(p, "", 767 * MS, 10);
	add_look(p, PROFILE_REASON_PEAK, 767 * MS + 300, 20);
	add_look(p, PROFILE_REASON_END, 800 * MS, 30);
	for (size_t i = 0; i < p->surveys.count; i++) {
		char *name = pinning_name_time(p, i);

		assert_found(p, name, (long)i);
		free(name);
	}
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_offered_is_another_look),
		cmocka_unit_test(a_time_means_the_nearest_look),
		cmocka_unit_test(a_snapshot_that_is_called_like_a_time_comes_first),
		cmocka_unit_test(looks_that_are_close_have_times_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
