/* ticks_test.c -- the choice of the clock and the way from ticks to ns. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <unistd.h>

#include "collect/ticks.h"

#if defined(__x86_64__)
#define OTHER_MACHINE EM_AARCH64
#else
#define OTHER_MACHINE EM_X86_64
#endif

static void a_library_for_another_machine_gets_the_monotonic_clock(void **state)
{
	(void)state;
	assert_int_equal(ticks_choose(OTHER_MACHINE), SEGMENT_CLOCK_MONOTONIC);
	assert_int_equal(ticks_choose(EM_NONE), SEGMENT_CLOCK_MONOTONIC);
}

static void monotonic_ticks_are_nanoseconds(void **state)
{
	struct ticks t;

	(void)state;
	ticks_init(&t, SEGMENT_CLOCK_MONOTONIC);
	ticks_calibrate(&t);
	assert_int_equal(ticks_to_ns(&t, UINT64_C(123456789012345)), UINT64_C(123456789012345));
	assert_int_equal(ticks_from_ns(&t, 77), 77);
	assert_int_equal(ticks_to_rough_ns(&t, 1000000), 1000000);
}

static void a_ratio_is_applied_without_overflow(void **state)
{
	struct ticks t = {.span_ticks = 3, .span_ns = 1000}; /* a 3 MHz counter */

	(void)state;
	assert_int_equal(ticks_to_ns(&t, 6), 2000);
	assert_int_equal(ticks_from_ns(&t, 2000), 6);
	assert_int_equal(ticks_to_ns(&t, SEGMENT_TICKS_MASK / 1000),
			 SEGMENT_TICKS_MASK / 1000 * 1000 / 3);
}

static void the_counter_agrees_with_the_monotonic_clock(void **state)
{
	struct ticks t;

	(void)state;
	ticks_init(&t, SEGMENT_CLOCK_COUNTER);
	uint64_t ticks = ticks_get_now(&t);
	uint64_t ns = clock_monotonic_ns();
	(void)usleep(20000);
	uint64_t ticks_later = ticks_get_now(&t);
	uint64_t ns_later = clock_monotonic_ns();
	ticks_calibrate(&t);

	uint64_t found = ticks_to_ns(&t, ticks_later - ticks);
	assert_true(found > (ns_later - ns) / 100 * 98 && found < (ns_later - ns) / 100 * 102);
	uint64_t rough = ticks_to_rough_ns(&t, ticks_later - ticks);
	assert_true(rough + 10 > found && rough < found + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_for_another_machine_gets_the_monotonic_clock),
		cmocka_unit_test(monotonic_ticks_are_nanoseconds),
		cmocka_unit_test(a_ratio_is_applied_without_overflow),
		cmocka_unit_test(the_counter_agrees_with_the_monotonic_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
