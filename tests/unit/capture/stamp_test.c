/* stamp_test.c -- stamps are read where it matters, and estimates stay close to the clock.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include "capture/hot.h"
#include "capture/stamp.h"

enum { RUN = 1 << STAMP_RUN_BITS, ROUNDS = 20000 };

/* A lone thread that is being recorded, of which the collector has said this. */
static struct thread *begin(uint32_t hurried)
{
	int block;

	FIXTURE_BEGIN(.chunks = 4, .clock = SEGMENT_CLOCK_COUNTER);
	assert_int_equal(process->header->clock, SEGMENT_CLOCK_COUNTER);
	(void)hot_release(&block, SEGMENT_EVENT_FREE);
	assert_int_equal(thread_self->state, THREAD_READY);
	assert_int_equal(atomic_load(&process->clock), PROCESS_CLOCK_ALONE);
	atomic_store(&process->header->hurried, hurried);
	while (thread_self->stamp + thread_self->stamp_step < thread_self->stamp_end)
		(void)stamp_take(thread_self);
	return thread_self;
}

static void without_hurry_every_stamp_is_read(void **state)
{
	struct thread *t = begin(0);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t before = clock_counter();
		uint64_t stamp = stamp_take(t);

		clock_fence();
		assert_in_range(stamp, before, clock_counter());
	}
}

static void in_a_hurry_stamps_never_go_back_nor_far_ahead(void **state)
{
	struct thread *t = begin(1);
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		/* quick and slow by turns, so that the last step is a bad guess */
		for (volatile int spin = 0; spin < (i / 100 % 2 ? 200 : 0); spin++)
			continue;
		uint64_t stamp = stamp_take(t);

		assert_true(stamp >= last);
		assert_true(stamp <= clock_counter() + STAMP_AHEAD);
		last = stamp;
	}
}

static void in_a_hurry_the_clock_is_read_once_for_a_run_of_events(void **state)
{
	struct thread *t = begin(1);

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t before = clock_counter();

		(void)stamp_take(t);
		assert_true(t->stamp_read >= before);
		for (int k = 1; k < RUN; k++) {
			uint64_t read = t->stamp_read;

			(void)stamp_take(t);
			assert_int_equal(t->stamp_read, read);
		}
	}
}

/* A run of events takes ten ticks, by a counter of 25 MHz. */
static void estimates_keep_to_a_clock_that_is_slower_than_events(void **state)
{
	struct thread *t = begin(1);

	(void)state;
	(void)stamp_take(t);
	uint64_t now = t->stamp_read;
	for (int i = 0; i < ROUNDS; i++) {
		while (t->stamp + t->stamp_step < t->stamp_end)
			(void)stamp_take(t);
		now += 10;
		stamp_turn(t, now, 1);
		assert_in_range(stamp_to_ticks(t, t->stamp), now, now + RUN);
	}
}

static void stamps_do_not_go_back_when_the_hurry_is_over(void **state)
{
	struct thread *t = begin(1);
	uint64_t last = stamp_take(t) + STAMP_AHEAD;

	(void)state;
	t->stamp = stamp_from_ticks(t, last);
	t->stamp_end = 0;
	atomic_store(&process->header->hurried, 0);
	while (t->stamp_hurried) {
		uint64_t stamp = stamp_take(t);

		assert_true(stamp >= last);
		last = stamp;
	}
	assert_true(stamp_take(t) >= last);
}

static void a_long_pause_is_seen_with_the_next_reading(void **state)
{
	struct thread *t = begin(1);

	(void)state;
	for (int i = 0; i < RUN + 3; i++)
		(void)stamp_take(t);
	fixture_sleep_ms(5);
	uint64_t before = clock_counter();
	uint64_t stamp = 0;
	for (int i = 0; i < RUN; i++)
		stamp = stamp_take(t);
	assert_true(stamp >= before);
}

/* After each number of events of two runs; estimates are behind the clock after the pause, and put
 * far ahead of it every other time. */
static void a_moment_divides_the_stamps_before_from_those_after(void **state)
{
	(void)state;
	for (uint32_t hurried = 0; hurried < 2; hurried++)
		for (int i = 0; i < 2 * RUN; i++) {
			struct thread *t = begin(hurried);
			uint64_t before = 0;

			for (int k = 0; k < i; k++)
				before = stamp_take(t);
			fixture_sleep_ms(1);
			if (i % 2)
				before = stamp_to_ticks(t, t->stamp += 4 * STAMP_AHEAD * RUN);
			uint64_t now = clock_counter();
			uint64_t moment = stamp_divide() + t->clock_base;

			assert_true(moment > before && moment >= now);
			for (int k = 0; k < 2 * RUN; k++)
				assert_true(stamp_take(t) >= moment);
		}
}

static void what_comes_after_a_second_thread_is_later_than_any_estimate(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct thread *t = begin(1);
		uint64_t estimate = 0;

		for (int k = 0; k < RUN * 3 + i % RUN; k++)
			estimate = stamp_take(t);
		stamp_order();
		assert_true(clock_counter() > estimate);
		assert_true(stamp_take(t) > estimate);
		assert_int_equal(atomic_load(&process->clock), PROCESS_CLOCK_ORDERED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_hurry_every_stamp_is_read),
		cmocka_unit_test(in_a_hurry_stamps_never_go_back_nor_far_ahead),
		cmocka_unit_test(in_a_hurry_the_clock_is_read_once_for_a_run_of_events),
		cmocka_unit_test(estimates_keep_to_a_clock_that_is_slower_than_events),
		cmocka_unit_test(stamps_do_not_go_back_when_the_hurry_is_over),
		cmocka_unit_test(a_long_pause_is_seen_with_the_next_reading),
		cmocka_unit_test(a_moment_divides_the_stamps_before_from_those_after),
		cmocka_unit_test(what_comes_after_a_second_thread_is_later_than_any_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
