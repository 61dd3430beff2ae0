/* crew_test.c -- threads that stand by do each piece of work once. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "collect/crew.h"

#define PIECES 1000u
#define TURNS  200u

struct work {
	_Atomic uint32_t next;
	_Atomic uint32_t at_work;
	_Atomic uint8_t done[PIECES];
	_Atomic uint64_t members; /* a bit for each that began */
};

static void work_on(void *context, uint32_t number)
{
	struct work *w = context;
	uint32_t piece;

	atomic_fetch_add(&w->at_work, 1);
	atomic_fetch_or(&w->members, UINT64_C(1) << number);
	while ((piece = atomic_fetch_add(&w->next, 1)) < PIECES)
		atomic_fetch_add(&w->done[piece], 1);
	atomic_fetch_sub(&w->at_work, 1);
}

static void check_work(struct crew *c)
{
	struct work *w = calloc(1, sizeof(*w));

	crew_work(c, work_on, w);
	assert_int_equal(atomic_load(&w->at_work), 0);
	assert_true(atomic_load(&w->members) & 1);
	assert_int_equal(atomic_load(&w->members) >> crew_count(c), 0);
	for (uint32_t i = 0; i < PIECES; i++)
		assert_int_equal(atomic_load(&w->done[i]), 1);
	free(w);
}

static void test_each_piece_is_done_once_turn_after_turn(void **state)
{
	struct crew c = {0};

	(void)state;
	crew_call(&c);
	assert_in_range(crew_count(&c), 1, CREW_MOST);
	for (unsigned i = 0; i < TURNS; i++)
		check_work(&c);
	crew_dismiss(&c);
	assert_int_equal(c.count, 0);
}

static void test_a_crew_that_was_not_called_is_the_caller(void **state)
{
	struct crew c = {0};

	(void)state;
	assert_int_equal(crew_count(&c), 1);
	check_work(&c);
	crew_dismiss(&c);
}

static void test_a_crew_without_work_goes_home(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TURNS; i++) {
		struct crew c = {0};

		crew_call(&c);
		crew_dismiss(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_piece_is_done_once_turn_after_turn),
		cmocka_unit_test(test_a_crew_that_was_not_called_is_the_caller),
		cmocka_unit_test(test_a_crew_without_work_goes_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
