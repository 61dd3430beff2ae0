/* python_quick_calls_test.c -- a stack of Python is found by comparing when functions have been
 * called and left since the last one. Runs: as a unit test, also under AddressSanitizer.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "python_quick_fixture.h"

static void a_return_to_the_caller_and_a_call_again_are_followed(void **unused)
{
	(void)unused;
	remember_end(DEPTH - 1, 34);
	set_innermost(DEPTH - 2);
	assert_int_equal(find(), 34);
	assert_int_equal(python_memo_count(&quick->memo), DEPTH - 1);
	set_innermost(DEPTH - 1);
	assert_int_equal(find(), 33);
	assert_int_equal(python_memo_count(&quick->memo), DEPTH);
}

/* By one frame further out than the innermost. */
static void a_call_of_something_else_leaves_whole_stacks_known(void **unused)
{
	(void)unused;
	assert_int_equal(find(), 33);
	set_frame(ROOM, CODE(ROOM), AT(ROOM, 50));
	frames[ROOM][o->frame_previous / 8] = address_of(frames[DEPTH - 2]);
	set_innermost(ROOM);
	assert_int_equal(find(), 0);
	remember(0, DEPTH - 1);
	set_innermost(DEPTH - 1);
	python_leaf_forget(&quick->leaves); /* it is not put together again */
	assert_int_equal(find(), 33);
}

/* A function three frames further out has called one, and that another one, which allocates. */
static void set_two_calls(void)
{
	set_frame(ROOM, CODE(ROOM), AT(ROOM, 50));
	frames[ROOM][o->frame_previous / 8] = address_of(frames[DEPTH - 3]);
	set_frame(ROOM + 1, CODE(ROOM + 1), AT(ROOM + 1, 50));
	set_innermost(ROOM + 1);
}

static void calls_one_inside_of_the_other_are_followed(void **unused)
{
	(void)unused;
	set_two_calls();
	remember_step(ROOM, DEPTH - 2, 40);
	remember_step(ROOM + 1, 40, 41);
	remember_end(41, 44);
	assert_int_equal(find(), 44);
	assert_int_equal(find(), 44);
	assert_int_equal(python_memo_count(&quick->memo), DEPTH);
	set_frame(ROOM, CODE(ROOM), AT(ROOM, 51));
	frames[ROOM][o->frame_previous / 8] = address_of(frames[DEPTH - 3]);
	assert_int_equal(find(), 0);
}

static void set_owner(uint32_t i, uint8_t owner)
{
	*(uint8_t *)(uintptr_t)(address_of(frames[i]) + o->frame_owner) = owner; /* NOLINT */
}

/* From 3.12 on, where C has called Python. */
static void calls_by_way_of_a_shim_are_followed(void **unused)
{
	const struct python_memo_link *links = quick->memo.links;

	(void)unused;
	quick->shim_owner = PYTHON_OWNER_SHIM;
	set_two_calls();
	set_owner(ROOM, PYTHON_OWNER_SHIM);
	remember_step(ROOM + 1, DEPTH - 2, 41);
	remember_end(41, 44);
	assert_int_equal(find(), 44);
	assert_int_equal(links[DEPTH - 1].activation, address_of(frames[ROOM]));
	assert_true(links[DEPTH - 2].is_stale); /* the memo's own frame is another one */
	set_frame(DEPTH - 3, CODE(DEPTH - 3), AT(DEPTH - 3, 60));
	remember_step(DEPTH - 3, DEPTH - 3, 50);
	remember_step(ROOM + 1, 50, 51);
	remember_end(51, 54);
	assert_int_equal(find(), 54);
	set_frame(DEPTH - 3, CODE(DEPTH - 3), AT(DEPTH - 3, 50));
	set_owner(ROOM, 0); /* a function's, of which nothing is known */
	assert_int_equal(find(), 0);
}

static void a_shim_that_runs_nothing_is_left_to_others(void **unused)
{
	(void)unused;
	quick->shim_owner = PYTHON_OWNER_SHIM;
	set_two_calls();
	set_owner(ROOM + 1, PYTHON_OWNER_SHIM);
	remember_step(ROOM, DEPTH - 2, 40);
	remember_end(40, 44);
	assert_int_equal(find(), 0);
}

static void calls_beyond_the_room_of_the_memo_are_left_to_others(void **unused)
{
	(void)unused;
	set_frame(ROOM - 1, CODE(ROOM - 1), AT(ROOM - 1, 50));
	remember(DEPTH, ROOM - 1);
	remember_end(ROOM, 35);
	set_innermost(ROOM - 1);
	assert_int_equal(find(), 35);
	set_frame(ROOM, CODE(ROOM), AT(ROOM, 50));
	set_innermost(ROOM);
	assert_int_equal(find(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_return_to_the_caller_and_a_call_again_are_followed),
		TEST(a_call_of_something_else_leaves_whole_stacks_known),
		TEST(calls_one_inside_of_the_other_are_followed),
		TEST(calls_by_way_of_a_shim_are_followed),
		TEST(a_shim_that_runs_nothing_is_left_to_others),
		TEST(calls_beyond_the_room_of_the_memo_are_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
