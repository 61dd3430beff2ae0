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
		TEST(calls_beyond_the_room_of_the_memo_are_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
