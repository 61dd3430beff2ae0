/* snapshots_test.c -- what was live when it was asked for, exactly, however long the recording goes
 * on. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/signals.h"
#include "rig.h"

#define A UINT64_C(0x10000)

static int set_up(void **state)
{
	static struct fixture f;

	if (rig_set_up(&f, state))
		return -1;
	f.one = producer_open(f.c, 1);
	rig_add_nodes(&f);
	return 0;
}

/* As the library does: pieces of 24 bytes. */
static void mark(struct producer *p, uint64_t ticks, const char *name)
{
	size_t left = strlen(name);

	for (;;) {
		bool last = left <= SEGMENT_MARK_PIECE;
		uint64_t event[4] = {ticks << 8 | (last ? SEGMENT_EVENT_MARK : SEGMENT_EVENT_NAME)};

		memcpy(&event[1], name, last ? left : SEGMENT_MARK_PIECE);
		producer_write(p, 4, event);
		if (last)
			return;
		name += SEGMENT_MARK_PIECE;
		left -= SEGMENT_MARK_PIECE;
	}
}

/* What the site had live at a point. */
static uint64_t get_live(const struct profile *p, uint32_t point, uint32_t site)
{
	uint64_t live = 0;

	for (size_t i = 0; i < p->changes.count && p->changes.at[i].point <= point; i++)
		if (p->changes.at[i].site == site)
			live = p->changes.at[i].live_bytes;
	return live;
}

static void a_brief_profile_has_the_sites_and_one_point(void **state)
{
	struct fixture *f = *state;
	struct error e = {0};

	producer_alloc(&f->one, 100, A, 64, 1);
	mark(&f->one, 110, "first");
	producer_alloc(&f->one, 120, A + 64, 10, 2);
	producer_free(&f->one, 130, A);
	struct profile *whole = rig_finish(f);
	struct profile *brief = collect_build_brief(f->c);

	assert_int_equal(profile_check(brief, &e), 0);
	assert_int_equal(brief->sites.count, 2);
	assert_memory_equal(brief->sites.at, whole->sites.at, 2 * sizeof(*whole->sites.at));
	assert_int_equal(brief->totals.allocations, 2);
	assert_int_equal(brief->totals.leaked_bytes, 10);
	assert_int_equal(brief->points.count, 1);
	assert_int_equal(brief->points.at[0].live_bytes, 10);
	assert_int_equal(brief->changes.count, 0);
	assert_int_equal(brief->snapshots.count, 0);
	assert_true(whole->points.count > 1);
	profile_free(brief);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void a_mark_keeps_what_is_live_between_two_events(void **state)
{
	struct fixture *f = *state;

	producer_alloc(&f->one, 100, A, 64, 1);
	mark(&f->one, 110, "first");
	producer_alloc(&f->one, 120, A + 64, 10, 2);
	producer_free(&f->one, 130, A);
	mark(&f->one, 140, "");
	struct profile *p = rig_finish(f);
	const struct profile_snapshot *s = p->snapshots.at;

	assert_int_equal(p->snapshots.count, 2);
	assert_string_equal(profile_string(p, s[0].name), "first");
	assert_int_equal(s[0].time_ns, 110);
	assert_int_equal(s[0].thread, 1);
	assert_int_equal(s[0].live_bytes, 64);
	assert_int_equal(s[0].live_blocks, 1);
	assert_int_equal(p->points.at[s[0].point].live_bytes, 64);
	assert_int_equal(get_live(p, s[0].point, 0), 64);
	assert_string_equal(profile_string(p, s[1].name), "");
	assert_int_equal(get_live(p, s[1].point, 0), 0);
	assert_int_equal(get_live(p, s[1].point, 1), 10);
	assert_int_equal(p->totals.allocations, 2);
}

static void a_long_name_comes_in_pieces_and_is_cut_at_its_limit(void **state)
{
	struct fixture *f = *state;
	char name[201];

	for (size_t i = 0; i < 200; i++)
		name[i] = (char)('a' + i % 26);
	name[200] = '\0';
	mark(&f->one, 110, "a name of twenty-four by"); /* exactly one piece */
	mark(&f->one, 120, "a name of more than twenty-four bytes");
	mark(&f->one, 130, name);
	mark(&f->one, 140, "short again");
	struct profile *p = rig_finish(f);

	name[SEGMENT_MARK_NAME_MAX] = '\0';
	assert_string_equal(profile_string(p, p->snapshots.at[0].name), "a name of twenty-four by");
	assert_string_equal(profile_string(p, p->snapshots.at[1].name),
			    "a name of more than twenty-four bytes");
	assert_string_equal(profile_string(p, p->snapshots.at[2].name), name);
	assert_string_equal(profile_string(p, p->snapshots.at[3].name), "short again");
}

static void snapshots_survive_the_halving_of_the_time_line(void **state)
{
	struct fixture *f = *state;
	uint64_t step = 20; /* two points for each event, to begin with */

	series_init(&f->c->account.series, step / 2);
	for (uint64_t i = 0; i < 5000; i++) {
		producer_alloc(&f->one, 100 + i * step, A + i * 64, 1, 1 + (uint32_t)(i % 3));
		if (i % 500 == 250)
			mark(&f->one, 100 + i * step, "now");
	}
	struct profile *p = rig_finish(f);

	assert_int_equal(p->snapshots.count, 10);
	assert_true(p->points.count <= SERIES_POINTS_MAX + 10);
	for (uint64_t i = 0; i < 10; i++) {
		const struct profile_snapshot *s = &p->snapshots.at[i];
		uint64_t made = i * 500 + 251;

		assert_int_equal(s->live_bytes, made);
		assert_int_equal(p->points.at[s->point].live_bytes, made);
		for (uint32_t site = 0; site < 3; site++)
			assert_int_equal(get_live(p, s->point, site), (made + 2 - site) / 3);
	}
}

static void too_many_snapshots_are_counted_and_left_out(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < ACCOUNT_SNAPSHOTS_MAX + 7; i++) {
		mark(&f->one, 100 + i, "again");
		if (i % 100 == 99)
			producer_drain(f->c);
	}
	struct profile *p = rig_finish(f);

	assert_int_equal(p->snapshots.count, ACCOUNT_SNAPSHOTS_MAX);
	assert_int_equal(p->totals.lost_snapshots, 7);
}

/* ---- from outside ---------------------------------------------------------------------------- */

static void a_snapshot_from_outside_has_all_that_came_before(void **state)
{
	struct fixture *f = *state;
	struct collect_snapshot kept;

	producer_alloc(&f->one, 100, A, 64, 1);
	producer_drain(f->c);
	producer_alloc(&f->one, 200, A + 64, 6, 2);
	assert_true(collect_take_snapshot(f->c, "asked", &kept));
	struct profile *p = rig_finish(f);

	assert_int_equal(kept.number, 1);
	assert_int_equal(kept.live_bytes, 70);
	assert_int_equal(p->snapshots.at[0].thread, 0);
	assert_int_equal(p->snapshots.at[0].time_ns, kept.time_ns);
	assert_int_equal(get_live(p, p->snapshots.at[0].point, 1), 6);
}

/* ---- by signals ------------------------------------------------------------------------------ */

static void a_signal_keeps_what_was_live_when_it_came(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *came = f->c->map.header->signal_ticks;

	f->c->signals = true;
	producer_alloc(&f->one, 100, A, 64, 1);
	producer_free(&f->one, 120, A);
	producer_alloc(&f->one, 130, A + 64, 10, 2);
	atomic_store(&came[0], 125);
	atomic_store(&came[3], 110);
	struct profile *p = rig_finish(f);
	const struct profile_snapshot *s = p->snapshots.at;

	assert_int_equal(p->snapshots.count, 2);
	assert_string_equal(profile_string(p, s[0].name), "signal");
	assert_int_equal(s[0].time_ns, 110);
	assert_int_equal(s[0].live_bytes, 64);
	assert_int_equal(s[1].time_ns, 125);
	assert_int_equal(s[1].live_bytes, 0);
	assert_int_equal(p->totals.allocations, 2);
	assert_int_equal(atomic_load(&came[0]) | atomic_load(&came[3]), 0);
}

static void a_signal_that_says_it_came_earlier_or_later_than_can_be_is_one_of_now(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *came = f->c->map.header->signal_ticks;

	f->c->signals = true;
	producer_alloc(&f->one, 100, A, 64, 1);
	producer_drain(f->c);
	uint64_t limit = f->c->drain.limit;
	atomic_store(&came[0], 1);
	atomic_store(&came[1], UINT64_MAX);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->snapshots.count, 2);
	assert_int_equal(p->snapshots.at[0].time_ns, limit);
	assert_true(p->snapshots.at[1].time_ns <= f->c->drain.limit);
}

static void a_signal_whose_stamp_is_ahead_of_the_clock_is_waited_for(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *came = f->c->map.header->signal_ticks;

	f->c->signals = true;
	producer_alloc(&f->one, 100, A, 64, 1);
	producer_drain(f->c);
	uint64_t moment = f->c->drain.limit + 50000;
	atomic_store(&came[0], moment);
	while (atomic_load(&came[0]))
		(void)collect_drain(f->c);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->snapshots.count, 1);
	assert_int_equal(p->snapshots.at[0].time_ns, moment);
}

/* The heads of a round are as old as its beginning: what followed the signal is not among them. */
static void a_signal_in_the_middle_of_a_round_is_left_to_the_next(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *came = f->c->map.header->signal_ticks;

	f->c->signals = true;
	producer_alloc(&f->one, 100, A, 64, 1);
	drain_begin(&f->c->drain, &f->c->streams);
	producer_alloc(&f->one, 200, A + 64, 64, 1);
	uint64_t moment = f->c->drain.complete + 1;
	atomic_store(&came[0], moment);
	producer_free(&f->one, moment + 1, A);
	assert_int_equal(signals_serve(f->c), 0);
	assert_int_equal(drain_end(&f->c->drain, &f->c->streams), 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->snapshots.count, 1);
	assert_int_equal(p->snapshots.at[0].time_ns, moment);
	assert_int_equal(p->snapshots.at[0].live_bytes, 128);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_brief_profile_has_the_sites_and_one_point),
		WITH(a_mark_keeps_what_is_live_between_two_events),
		WITH(a_long_name_comes_in_pieces_and_is_cut_at_its_limit),
		WITH(snapshots_survive_the_halving_of_the_time_line),
		WITH(too_many_snapshots_are_counted_and_left_out),
		WITH(a_snapshot_from_outside_has_all_that_came_before),
		WITH(a_signal_keeps_what_was_live_when_it_came),
		WITH(a_signal_whose_stamp_is_ahead_of_the_clock_is_waited_for),
		WITH(a_signal_in_the_middle_of_a_round_is_left_to_the_next),
		WITH(a_signal_that_says_it_came_earlier_or_later_than_can_be_is_one_of_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
