/* deadline_test.c -- how long a target may be stopped: by its size, by all stops of a look
 * together, and for as long as one likes. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/deadline.h"
#include "format/clock.h"
#include "format/env.h"

#define MS UINT64_C(1000000)
#define GB UINT64_C(1000000000)

/* One that was stopped and is read for so long, by now. */
static struct deadline be_stopped(uint64_t bytes, uint64_t before_ns, uint64_t reading_ns)
{
	struct deadline d;
	uint64_t now = clock_monotonic_ns();

	deadline_start(&d, bytes, false);
	d.since_ns = now - before_ns - reading_ns;
	d.reading_ns = reading_ns ? now - reading_ns : 0;
	return d;
}

static void test_a_stop_is_as_long_as_the_target_is_large(void **state)
{
	struct deadline d = be_stopped(10 * GB, 0, 900 * MS);

	(void)state;
	assert_false(deadline_is_over(&d));
	d = be_stopped(10 * GB, 0, 1001 * MS);
	assert_true(deadline_is_over(&d));
	d = be_stopped(10 * GB, 900 * MS, 101 * MS);
	assert_true(deadline_is_over(&d));
	assert_int_equal(deadline_get_allowed(&d), 1000 * MS);
	assert_int_equal(deadline_get_left(&d), 1000 * MS);
}

static void test_a_small_target_may_be_waited_for_but_is_not_read_for_long(void **state)
{
	struct deadline d = be_stopped(1000, 60 * MS, 0);

	(void)state;
	assert_false(deadline_is_over(&d));
	d = be_stopped(1000, 101 * MS, 0);
	assert_true(deadline_is_over(&d));
	d = be_stopped(1000, 0, 26 * MS);
	assert_true(deadline_is_over(&d));
	d = be_stopped(1000, 50 * MS, 1 * MS);
	assert_false(deadline_is_over(&d));
	assert_int_equal(deadline_get_allowed(&d), 10 * MS);
}

static void test_letting_go_is_part_of_the_time(void **state)
{
	struct deadline d = be_stopped(1000, 60 * MS, 0);

	(void)state;
	d.leaving_ns = 30 * MS;
	assert_false(deadline_is_over(&d));
	d.leaving_ns = 41 * MS;
	assert_true(deadline_is_over(&d));
	deadline_go_on(&d);
	assert_int_equal(d.leaving_ns, 0);
}

static void test_stops_of_one_look_count_together(void **state)
{
	struct deadline d = be_stopped(GB, 60 * MS, 0);

	(void)state;
	assert_true(deadline_allows(&d, 100 * MS));
	deadline_go_on(&d);
	assert_true(d.stopped_ns >= 60 * MS && !d.read_ns);
	assert_false(deadline_is_over(&d));
	assert_false(deadline_allows(&d, 41 * MS));
	assert_true(deadline_get_left(&d) <= 40 * MS);
	deadline_stop(&d, clock_monotonic_ns());
	d.since_ns -= 41 * MS;
	assert_true(deadline_is_over(&d));
	/* So does what was read. */
	d = be_stopped(GB / 2, 0, 30 * MS);
	deadline_go_on(&d);
	deadline_stop(&d, clock_monotonic_ns());
	deadline_read(&d);
	assert_false(deadline_is_over(&d));
	d.since_ns -= 21 * MS;
	d.reading_ns -= 21 * MS;
	assert_true(deadline_is_over(&d));
}

static void test_who_goes_on_is_not_late_and_nobody_is_where_it_is_allowed(void **state)
{
	struct deadline d = be_stopped(GB, 0, 5000 * MS);

	(void)state;
	d.is_open = true;
	assert_false(deadline_is_over(&d));
	assert_true(deadline_allows(&d, UINT64_MAX / 2));
	assert_true(deadline_get_left(&d) == UINT64_MAX);
	d.is_open = false;
	deadline_go_on(&d);
	assert_true(d.stopped_ns >= 5000 * MS);
	assert_false(deadline_is_over(&d));
}

static void test_less_can_be_allowed_for_reading(void **state)
{
	(void)state;
	(void)setenv(ENV_STOP_LIMIT, "3", 1);
	struct deadline d = be_stopped(GB, 50 * MS, 2 * MS);
	assert_false(deadline_is_over(&d));
	assert_int_equal(deadline_get_allowed(&d), 3 * MS);
	assert_int_equal(deadline_get_left(&d), 100 * MS);
	(void)setenv(ENV_STOP_LIMIT, "0,7", 1);
	d = be_stopped(GB, 8 * MS, 0);
	assert_int_equal(deadline_get_left(&d), 7 * MS);
	assert_true(deadline_is_over(&d));
	(void)setenv(ENV_STOP_LIMIT, "0", 1);
	d = be_stopped(GB, 50 * MS, 1);
	assert_true(deadline_is_over(&d));
	assert_false(deadline_allows(&d, 1));
	(void)unsetenv(ENV_STOP_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stop_is_as_long_as_the_target_is_large),
		cmocka_unit_test(test_a_small_target_may_be_waited_for_but_is_not_read_for_long),
		cmocka_unit_test(test_letting_go_is_part_of_the_time),
		cmocka_unit_test(test_stops_of_one_look_count_together),
		cmocka_unit_test(test_who_goes_on_is_not_late_and_nobody_is_where_it_is_allowed),
		cmocka_unit_test(test_less_can_be_allowed_for_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
