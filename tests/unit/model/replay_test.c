/* replay_test.c -- the state at any moment equals what counting every event gives. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/wire.h"
#include "model/replay.h"
#include "profile/trace.h"
#include "profile/trace_write.h"

#define SITES	    5u
#define EVENTS	    70000u
#define POINT_EVERY 997u

struct fixture {
	char path[64];
	struct trace_event *events;
	struct profile *p;
};

static void count(const struct trace_event *e, struct amount live[SITES])
{
	const struct amount block = {.bytes = e->size, .blocks = 1};

	live[e->site] = trace_is_arrival(e) ? amount_plus(live[e->site], block)
					    : amount_minus(live[e->site], block);
}

/* A point before event `i`, as the collector makes them: what is earlier is in it. */
static void add_point(struct profile *p, uint64_t i, uint64_t time_ns,
		      const struct amount live[SITES])
{
	for (uint32_t site = 0; site < SITES; site++)
		*vec_push(&p->changes) = (struct profile_change){
			(uint32_t)p->points.count, site, live[site].bytes, live[site].blocks};
	*vec_push(&p->points) = (struct profile_point){.time_ns = time_ns, .events = i};
}

/* Events that come and go at random, some at the same time. */
static void make_events(struct fixture *f, struct trace_writer *w)
{
	struct amount live[SITES] = {{0}};
	uint64_t time_ns = 0;

	srand(7); /* the same in every run */
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint32_t site = (uint32_t)rand() % SITES;
		bool leaves = live[site].blocks && rand() % 2;

		time_ns += (uint64_t)(rand() % 3);
		if (i % POINT_EVERY == POINT_EVERY - 1)
			add_point(f->p, i, ++time_ns, live);
		f->events[i] = (struct trace_event){
			.time_ns = time_ns,
			.size = site * 100 + 8,
			.site = site,
			.kind = leaves ? WIRE_EVENT_FREE : WIRE_EVENT_ALLOCATION,
		};
		count(&f->events[i], live);
		*trace_write_reserve(w) = f->events[i];
	}
}

static int set_up(void **state)
{
	static struct fixture f;
	struct error e = {0};

	(void)snprintf(f.path, sizeof(f.path), "/tmp/midden-replay-%ld.mdn", (long)getpid());
	f.events = mem_new(EVENTS, sizeof(*f.events));
	f.p = profile_new();
	for (uint32_t i = 0; i < SITES; i++)
		*vec_push(&f.p->sites) = (struct profile_site){0};
	struct trace_writer *w = trace_write_open(f.path, &e);
	assert_non_null(w);
	make_events(&f, w);
	assert_int_equal(trace_write_close(w, f.p, f.path, &e), 0);
	profile_free(f.p);
	f.p = profile_read(f.path, &e);
	assert_non_null(f.p);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	profile_free(f->p);
	free(f->events);
	(void)unlink(f->path);
	return 0;
}

static void assert_state(const struct replay *r, const struct trace_event *events, size_t handled)
{
	struct amount live[SITES] = {{0}};
	struct amount whole = {0};

	for (size_t i = 0; i < handled; i++)
		count(&events[i], live);
	for (uint32_t site = 0; site < SITES; site++) {
		assert_int_equal(r->live[site].bytes, live[site].bytes);
		assert_int_equal(r->live[site].blocks, live[site].blocks);
		whole = amount_plus(whole, live[site]);
	}
	assert_int_equal(r->whole.bytes, whole.bytes);
	assert_int_equal(r->whole.blocks, whole.blocks);
}

static void the_state_at_any_time_is_exact(void **state)
{
	struct fixture *f = *state;
	uint64_t end_ns = f->events[EVENTS - 1].time_ns;
	struct error e = {0};
	struct replay r;
	size_t handled = 0;

	for (uint64_t time_ns = 0; time_ns <= end_ns + 200; time_ns += 331) {
		assert_int_equal(replay_init(&r, f->p, time_ns, &e), 0);
		while (handled < EVENTS && f->events[handled].time_ns <= time_ns)
			handled++;
		assert_true(r.exact);
		assert_int_equal(r.time_ns, time_ns);
		assert_state(&r, f->events, handled);
		replay_fini(&r);
	}
}

static void without_a_trace_the_last_point_is_shown_and_named(void **state)
{
	struct fixture *f = *state;
	struct error e = {0};
	struct replay r;

	f->p->blocks.count = 0;
	uint64_t time_ns = f->p->points.at[3].time_ns;
	assert_int_equal(replay_init(&r, f->p, time_ns + 1, &e), 0);
	assert_false(r.exact);
	assert_int_equal(r.time_ns, time_ns);
	assert_state(&r, f->events, 4 * POINT_EVERY - 1);
	replay_fini(&r);
	replay_init_at_point(&r, f->p, 3);
	assert_true(r.exact);
	assert_state(&r, f->events, 4 * POINT_EVERY - 1);
	replay_fini(&r);
}

static void beyond_the_end_of_a_trace_that_was_cut_nothing_is_called_exact(void **state)
{
	struct fixture *f = *state;
	struct error e = {0};
	struct replay r;

	f->p->totals.trace_lost_events = 3;
	assert_int_equal(replay_init(&r, f->p, UINT64_MAX, &e), 0);
	assert_false(r.exact);
	assert_int_equal(r.time_ns, f->events[EVENTS - 1].time_ns);
	replay_fini(&r);
	assert_int_equal(replay_init(&r, f->p, 1000, &e), 0);
	assert_true(r.exact);
	replay_fini(&r);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_state_at_any_time_is_exact),
		WITH(without_a_trace_the_last_point_is_shown_and_named),
		WITH(beyond_the_end_of_a_trace_that_was_cut_nothing_is_called_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
