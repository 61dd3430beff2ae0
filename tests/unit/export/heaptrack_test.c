/* heaptrack_test.c -- events as lines of heaptrack's format. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exported.h"
#include "format/wire.h"
#include "profile/trace_write.h"

/* main calls make, and work, inlined into main, calls make as well. */
static struct profile *build(void)
{
	struct profile *p = sample_new();
	uint32_t main_frame = sample_frame(p, "main", "/src/app.c", 20, 0);
	uint32_t inlined = sample_frame(p, "work", "/src/app.c", 30, main_frame);
	uint32_t root = sample_node(p, 0, "main", 10);
	uint32_t other = sample_node_in(p, 0, 1, inlined);

	sample_site(p, sample_node(p, root, "make", 5), 24, 1);
	sample_site(p, sample_node(p, other, "make", 5), 16, 1);
	p->run.page_bytes = 4096;
	*vec_push(&p->points) = (struct profile_point){.time_ns = 2500000, .rss_bytes = 40960};
	return p;
}

/* The profile from its file, where the events are. */
static struct profile *build_traced(const struct trace_event *events, size_t count)
{
	struct profile *p = build();
	struct error e = {0};
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/midden-heaptrack-%ld.mdn", (long)getpid());
	struct trace_writer *w = trace_write_open(path, &e);
	assert_non_null(w);
	for (size_t i = 0; i < count; i++)
		*trace_write_reserve(w) = events[i];
	p->run.clock_ticks = p->run.clock_ns = 1;
	assert_int_equal(trace_write_close(w, p, path, &e), 0);
	profile_free(p);
	p = profile_read(path, &e);
	assert_non_null(p);
	(void)unlink(path);
	return p;
}

static void events_stacks_and_times_are_lines(void **state)
{
	static const struct trace_event events[] = {
		{.time_ns = 1000000, .site = 0, .size = 24, .kind = WIRE_EVENT_ALLOCATION},
		{.time_ns = 1000001, .site = 1, .size = 16, .kind = WIRE_EVENT_ALLOCATION},
		{.time_ns = 17000000, .site = 0, .size = 24, .kind = WIRE_EVENT_RESIZE_FREE},
		{.time_ns = 17000000, .site = 0, .size = 48, .kind = WIRE_EVENT_RESIZE_ALLOCATION},
		{.time_ns = 17000000, .site = 1, .size = 16, .kind = WIRE_EVENT_FREE},
	};

	(void)state;
	exported_assert("heaptrack", build_traced(events, 5), FIGURE_PEAK,
			"v 10400 3\nX ./app -x\nI 1000 0\n"
			"s 8 /src/app\ns 4 main\ns a /src/app.c\n"
			"i 400010 1 2 3 a\nt 1 0\n"
			"s 4 make\n"
			"i 400030 1 4 3 5\nt 2 1\n"
			"s 4 work\n"
			"i 400020 1 5 3 1e 2 3 14\nt 3 0\n"
			"i 400040 1 4 3 5\nt 4 3\n"
			"a 0 0\n"
			"c 1\na 18 2\n+ 1\na 10 4\n+ 2\n"
			"c 2\nR a\n"
			"c 11\n- 1\na 30 2\n+ 3\n- 2\n");
}

static void a_profile_without_a_trace_is_told_how_to_get_one(void **state)
{
	static const struct model_options usual = {0};
	struct profile *p = build();
	struct model *m = model_new(p, &usual);
	const struct export_request r = {.model = m};
	struct error e = {0};

	(void)state;
	assert_int_equal(export_find("heaptrack")->write(stdout, &r, &e), -1);
	assert_string_equal(e.text, "heaptrack's format needs every event: record with "
				    "`midden record --trace`");
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_stacks_and_times_are_lines),
		cmocka_unit_test(a_profile_without_a_trace_is_told_how_to_get_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
