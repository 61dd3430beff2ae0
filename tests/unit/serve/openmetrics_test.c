/* openmetrics_test.c -- metrics of profiles that are made here. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "serve/openmetrics.h"

/* A site of one frame. */
static void add_site(struct profile *p, const char *function, uint64_t live_bytes)
{
	*vec_push(&p->frames) = (struct profile_frame){.function = profile_add_string(p, function)};
	*vec_push(&p->nodes) = (struct profile_node){.pc = 0x1000 + p->nodes.count,
						     .frames = (uint32_t)p->frames.count - 1};
	*vec_push(&p->sites) = (struct profile_site){
		.node = (uint32_t)p->nodes.count - 1,
		.allocations = 1,
		.allocated_bytes = live_bytes,
		.live_blocks = live_bytes != 0,
		.live_bytes = live_bytes,
	};
	p->totals.leaked_bytes += live_bytes;
	p->totals.leaked_blocks += live_bytes != 0;
}

/* The text, malloc'ed; the profile is freed. */
static char *print(struct profile *p)
{
	const struct openmetrics_cost cost = {{{"collector", 1234567890, 4096}}, 1};
	struct model *m = model_new(p, &(struct model_options){0});
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	openmetrics_print(out, m, &cost);
	(void)fclose(out);
	model_free(m);
	profile_free(p);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text++;
	}
	return n;
}

static void names_are_quoted_and_stay_on_their_line(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	add_site(p, "a\"b\\c\nd\xff", 10);
	char *text = print(p);
	assert_non_null(strstr(text, "\nmidden_function_live_bytes{function=\"a\\\"b\\\\c "
				     "d\xef\xbf\xbd\",file=\"\",module=\"\"} 10\n"));
	free(text);
}

static void the_number_of_samples_is_bounded_and_they_add_up(void **state)
{
	struct profile *p = profile_new();
	char name[16];

	(void)state;
	for (unsigned i = 1; i <= 100; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		add_site(p, name, i);
	}
	char *text = print(p);
	assert_int_equal(count(text, "\nmidden_function_live_bytes{"), OPENMETRICS_FUNCTIONS + 1);
	assert_non_null(strstr(text, "{function=\"f81\",file=\"\",module=\"\"} 81\n"));
	assert_null(strstr(text, "function=\"f80\""));
	assert_non_null(strstr(text, "{function=\"(others)\",file=\"\",module=\"\"} 3240\n"));
	assert_non_null(strstr(text, "\nmidden_live_bytes 5050\n"));
	free(text);
}

/* Two functions that only their modules' directories tell apart, say. */
static void no_two_samples_have_the_same_labels(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	add_site(p, "same name", 10);
	add_site(p, "same\nname", 5);
	char *text = print(p);
	assert_int_equal(count(text, "midden_function_live_bytes{function=\"same name\""), 1);
	assert_non_null(strstr(text, "function=\"same name\",file=\"\",module=\"\"} 15\n"));
	free(text);
}

static void families_are_told_before_their_samples(void **state)
{
	(void)state;
	char *text = print(profile_new());
	assert_ptr_equal(strstr(text, "# TYPE "), text);
	assert_non_null(strstr(text, "# TYPE midden_allocated_bytes counter\n"
				     "# UNIT midden_allocated_bytes bytes\n"
				     "# HELP midden_allocated_bytes Bytes that were asked for.\n"
				     "midden_allocated_bytes_total 0\n"));
	assert_non_null(strstr(text, "_cpu_seconds_total{process=\"collector\"} 1.234\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_quoted_and_stay_on_their_line),
		cmocka_unit_test(the_number_of_samples_is_bounded_and_they_add_up),
		cmocka_unit_test(no_two_samples_have_the_same_labels),
		cmocka_unit_test(families_are_told_before_their_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
