/* trace_test.c -- the log of events: written as it comes, read from anywhere, whatever happened to
 * its file.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <signal.h>
#include <sys/resource.h>

#include "format/wire.h"
#include "profile/trace.h"
#include "profile/trace_write.h"

#define EVENTS UINT64_C(100000) /* four blocks, the last one not full */

static struct trace_event make_event(uint64_t i)
{
	return (struct trace_event){
		.time_ns = i / 3 * 7, /* ticks; three of the same time */
		.address = i * UINT64_C(0x9e3779b97f4a7c15) >> 20, /* cannot be compressed */
		.size = i % 2 ? 24 : UINT64_C(5) << 32,
		.site = (uint32_t)(i % 6),
		.thread = (uint32_t)(i % 3),
		.kind = 1 + (uint32_t)(i % 5),
	};
}

/* A profile whose ticks are of half a ns, with `count` events in its file. */
static struct profile *write_traced(const struct fixture_file *f, uint64_t count)
{
	struct error e = {0};
	struct profile *p = fixture_small();
	struct trace_writer *w = trace_write_open(f->path, &e);

	assert_non_null(w);
	for (uint64_t i = 0; i < count; i++)
		*trace_write_reserve(w) = make_event(i);
	assert_int_equal(trace_write_get_count(w), count);
	p->run.clock_ticks = 2;
	p->run.clock_ns = 1;
	assert_int_equal(trace_write_close(w, p, f->path, &e), 0);
	return p;
}

static struct profile *read_back(const struct fixture_file *f)
{
	struct error e = {0};
	struct profile *p = profile_read(f->path, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static void assert_is_event(const struct trace_event *e, uint64_t i)
{
	struct trace_event wanted = make_event(i);

	assert_non_null(e);
	assert_int_equal(e->time_ns, wanted.time_ns / 2);
	assert_int_equal(e->address, wanted.address);
	assert_int_equal(e->size, wanted.size);
	assert_int_equal(e->site, wanted.site);
	assert_int_equal(e->thread, wanted.thread);
	assert_int_equal(e->kind, wanted.kind);
}

/* Reads to the end; the number of events. */
static uint64_t count_events(const struct profile *p)
{
	struct trace_cursor *c = trace_cursor_new(p);
	const struct trace_event *e;
	uint64_t count = 0;

	while ((e = trace_cursor_next(c)))
		assert_is_event(e, count++);
	trace_cursor_free(c);
	return count;
}

static int set_up(void **state)
{
	static struct fixture_file f;

	fixture_open_directory(&f);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	fixture_close_directory(*state);
	return 0;
}

/* ---- there and back -------------------------------------------------------------------------- */

static void every_event_comes_back_and_so_does_the_profile(void **state)
{
	struct profile *p = write_traced(*state, EVENTS);
	struct profile *q = read_back(*state);

	fixture_assert_equal(p, q);
	assert_int_equal(q->blocks.count, 4);
	assert_int_equal(trace_get_count(q), EVENTS);
	assert_int_equal(count_events(q), EVENTS);
	profile_free(p);
	profile_free(q);
}

static void a_trace_without_events_is_none(void **state)
{
	struct profile *p = write_traced(*state, 0);
	struct profile *q = read_back(*state);

	fixture_assert_equal(p, q);
	assert_int_equal(count_events(q), 0);
	profile_free(p);
	profile_free(q);
}

static void a_profile_that_is_written_again_keeps_its_trace(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = write_traced(f, EVENTS);
	struct profile *q = read_back(f);
	struct error e = {0};

	(void)profile_add_string(q, "a name found later");
	assert_int_equal(profile_write(q, f->path, &e), 0);
	assert_int_equal(count_events(q), EVENTS); /* of the file as it was */
	profile_free(q);
	q = read_back(f);
	assert_false(q->damaged);
	assert_int_equal(count_events(q), EVENTS);
	profile_free(p);
	profile_free(q);
}

static void bytes_in_memory_have_a_trace_too(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = write_traced(f, EVENTS);
	struct fixture_bytes b = fixture_load(f->path);
	struct error e = {0};
	struct profile *q = profile_parse(b.at, b.count, &e);

	free(b.at);
	assert_int_equal(count_events(q), EVENTS);
	profile_free(p);
	profile_free(q);
}

/* ---- seeking --------------------------------------------------------------------------------- */

static void a_cursor_goes_to_any_event(void **state)
{
	static const uint64_t numbers[] = {0, 1, 32767, 32768, 99999, 5, 65536, 98304};
	struct profile *p = write_traced(*state, EVENTS);
	struct profile *q = read_back(*state);
	struct trace_cursor *c = trace_cursor_new(q);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		trace_cursor_seek(c, numbers[i]);
		assert_is_event(trace_cursor_next(c), numbers[i]);
	}
	trace_cursor_seek(c, EVENTS);
	assert_null(trace_cursor_next(c));
	trace_cursor_free(c);
	profile_free(p);
	profile_free(q);
}

static void a_cursor_goes_to_the_first_event_of_a_time(void **state)
{
	struct profile *p = write_traced(*state, EVENTS);
	struct profile *q = read_back(*state);
	struct trace_cursor *c = trace_cursor_new(q);
	struct error e = {0};

	for (uint64_t time_ns = 0; time_ns < EVENTS / 3 * 7 / 2; time_ns += 1009) {
		trace_cursor_seek_time(c, time_ns);
		uint64_t i = 0; /* the first whose time, in whole ns, is not before */
		i = (2 * time_ns + 6) / 7 * 3;
		while (i && make_event(i - 1).time_ns / 2 >= time_ns)
			i--;
		assert_is_event(trace_cursor_next(c), i);
	}
	trace_cursor_seek_time(c, UINT64_MAX);
	assert_null(trace_cursor_next(c));
	assert_int_equal(trace_cursor_check(c, &e), 0);
	trace_cursor_free(c);
	profile_free(p);
	profile_free(q);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void store(const struct fixture_file *f, const struct fixture_bytes *b)
{
	FILE *file = fopen(f->path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(b->at, 1, b->count, file), b->count);
	assert_int_equal(fclose(file), 0);
}

static void a_damaged_block_ends_the_reading_with_its_reason(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = write_traced(f, EVENTS);
	struct fixture_bytes b = fixture_load(f->path);
	struct error e = {0};

	b.at[WIRE_FILE_HEADER_BYTES + WIRE_SECTION_HEADER_BYTES + 100] ^= 1;
	store(f, &b);
	struct profile *q = read_back(f);
	struct trace_cursor *c = trace_cursor_new(q);
	assert_null(trace_cursor_next(c));
	assert_int_equal(trace_cursor_check(c, &e), -1);
	assert_string_equal(e.text, "trace, event 0: is damaged");
	trace_cursor_free(c);
	free(b.at);
	profile_free(p);
	profile_free(q);
}

static void a_file_that_was_cut_off_has_the_blocks_before_the_cut(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = write_traced(f, EVENTS);
	struct fixture_bytes b = fixture_load(f->path);
	struct profile *whole = read_back(f);
	bool had_some = false;
	size_t left = 0;

	/* The blocks come first; what is behind them grows with the format. */
	for (size_t cut = 1; cut < 24; cut++) {
		struct fixture_bytes part = {b.at, b.count * cut / 24};
		struct error e = {0};

		store(f, &part);
		struct profile *q = profile_read(f->path, &e);
		if (!q)
			continue;
		assert_true(q->damaged);
		assert_true(q->blocks.count >= left && q->blocks.count <= whole->blocks.count);
		left = q->blocks.count;
		had_some = had_some || (left > 0 && left < whole->blocks.count);
		profile_free(q);
	}
	assert_true(had_some);
	assert_int_equal(left, whole->blocks.count);
	free(b.at);
	profile_free(p);
	profile_free(whole);
}

static void an_event_of_a_site_that_is_not_there_is_not_let_through(void **state)
{
	const struct fixture_file *f = *state;
	struct error e = {0};
	struct profile *p = fixture_small();
	struct trace_writer *w = trace_write_open(f->path, &e);

	*trace_write_reserve(w) = make_event(0);
	*trace_write_reserve(w) = make_event(1);
	*trace_write_reserve(w) = (struct trace_event){.kind = 1, .site = 6, .time_ns = 1};
	assert_int_equal(trace_write_close(w, p, f->path, &e), 0);
	struct profile *q = read_back(f);
	struct trace_cursor *c = trace_cursor_new(q);
	assert_non_null(trace_cursor_next(c));
	assert_non_null(trace_cursor_next(c));
	assert_null(trace_cursor_next(c));
	assert_int_equal(trace_cursor_check(c, &e), -1);
	trace_cursor_free(c);
	profile_free(p);
	profile_free(q);
}

/* ---- a full disk ----------------------------------------------------------------------------- */

#define TABLES (16u << 10) /* kept for what follows the trace */
#define MANY   (8 * EVENTS)

/* Writes `count` events where a file may have `bytes` bytes. */
static struct profile *write_into(const struct fixture_file *f, uint64_t count, rlim_t bytes)
{
	struct rlimit old;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	struct rlimit small = {bytes, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct profile *p = write_traced(f, count);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, handler);
	return p;
}

static void a_full_disk_ends_the_trace_and_not_the_profile(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *all = write_traced(f, MANY);
	struct fixture_bytes b = fixture_load(f->path);

	for (unsigned part = 1; part < 4; part++) {
		struct profile *p = write_into(f, MANY, TABLES + b.count * part / 4);
		struct profile *q = read_back(f);
		uint64_t kept = trace_get_count(q);

		assert_false(q->damaged);
		assert_true(kept < MANY);
		assert_true(kept >= MANY * part / 4 * 3 / 4);
		assert_int_equal(kept + q->totals.trace_lost_events, MANY);
		assert_int_equal(count_events(q), kept);
		profile_free(p);
		profile_free(q);
	}
	free(b.at);
	profile_free(all);
}

static void a_pipe_cannot_keep_a_trace(void **state)
{
	struct error e = {0};

	(void)state;
	assert_null(trace_write_open("/dev/null", &e));
	assert_string_equal(e.text, "/dev/null: cannot keep a trace there: Illegal seek");
}

static void a_trace_that_is_given_up_leaves_nothing(void **state)
{
	const struct fixture_file *f = *state;
	struct error e = {0};
	struct trace_writer *w = trace_write_open(f->path, &e);

	*trace_write_reserve(w) = make_event(0);
	trace_write_abandon(w); /* tear_down sees what is left */
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(every_event_comes_back_and_so_does_the_profile),
		WITH(a_trace_without_events_is_none),
		WITH(a_profile_that_is_written_again_keeps_its_trace),
		WITH(bytes_in_memory_have_a_trace_too),
		WITH(a_cursor_goes_to_any_event),
		WITH(a_cursor_goes_to_the_first_event_of_a_time),
		WITH(a_damaged_block_ends_the_reading_with_its_reason),
		WITH(a_file_that_was_cut_off_has_the_blocks_before_the_cut),
		WITH(an_event_of_a_site_that_is_not_there_is_not_let_through),
		WITH(a_full_disk_ends_the_trace_and_not_the_profile),
		WITH(a_pipe_cannot_keep_a_trace),
		WITH(a_trace_that_is_given_up_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
