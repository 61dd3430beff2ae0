/* walk_test.c -- the walked stack is the one that another unwinder finds, whatever was walked
 * before.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include "capture/modules.h"

static void take_and_check(void)
{
	walked_take_here();
	walked_check(&walked);
}

/* ---- everyday frames ------------------------------------------------------------------------- */

static void at_every_depth_the_stack_is_the_one_that_backtrace_finds(void **state)
{
	(void)state;
	walked_begin();
	for (unsigned depth = 0; depth < 60; depth++)
		walked_recurse(depth, take_and_check);
	for (unsigned depth = 60; depth-- > 0;)
		walked_recurse(depth, take_and_check);
}

static void big_frames_and_frames_of_unknown_size_are_walked_through(void **state)
{
	(void)state;
	walked_begin();
	for (unsigned depth = 0; depth < 20; depth++) {
		walked_recurse_big(depth, take_and_check);
		walked_recurse_alloca(depth, take_and_check);
		walked_recurse_realigned(depth, take_and_check);
	}
	assert_int_equal(walked_truncated(), 0);
}

static void the_program_and_the_c_library_are_told_apart(void **state)
{
	uint64_t ours, theirs = 0;

	(void)state;
	walked_begin();
	walked_take_here();
	ours = walked.frames[0].module;
	for (uint32_t i = 0; i < walked.count; i++) /* libc has called main */
		if (walked.frames[i].module != ours)
			theirs = walked.frames[i].module;
	assert_in_range(ours, 1, 0x00ffffff);
	assert_in_range(theirs, 1, 0x00ffffff);
}

static void the_same_stack_has_the_same_node(void **state)
{
	uint32_t nodes[2] = {0};

	(void)state;
	walked_begin();
	for (volatile unsigned i = 0; i < 6; i++) { /* volatile: one loop body, one line of code */
		walked_recurse(i % 2 * 5, walked_take_here);
		if (i >= 2)
			assert_int_equal(walked.node, nodes[i % 2]);
		nodes[i % 2] = walked.node;
	}
	assert_int_not_equal(nodes[0], nodes[1]);
}

/* ---- what the memo could get wrong ----------------------------------------------------------- */

static NOINLINE void call_in_between(void)
{
	walked_take_here();
	walked_sink++;
}

static void two_calls_from_different_lines_are_different_stacks(void **state)
{
	uint64_t first;

	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 3; i++) {
		call_in_between(); /* same leaf, same stack pointers */
		walked_check(&walked);
		first = walked.frames[2].pc;
		call_in_between();
		walked_check(&walked);
		assert_int_not_equal(walked.frames[2].pc, first);
	}
}

/* Realignment swallows a small shift: the inner frames lie where they lay, the outer ones do
 * not. */
static NOINLINE void shift_and_take(unsigned shift)
{
	volatile char *room = __builtin_alloca(16 * shift + 1);

	room[0] = 1;
	switch (shift % 3) {
	case 0:
		WALKED_LINE(1);
		walked_recurse_realigned(0, walked_take_here);
		walked_sink += 3;
		break;
	case 1:
		WALKED_LINE(2);
		walked_recurse_realigned(0, walked_take_here);
		walked_sink += 5;
		break;
	default:
		WALKED_LINE(3);
		walked_recurse_realigned(0, walked_take_here);
		walked_sink += 7;
	}
	walked_sink += (unsigned)room[0];
}

static void outer_frames_that_have_moved_are_noticed(void **state)
{
	uint64_t random = 1;

	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 500; i++) {
		shift_and_take((unsigned)(fixture_random(&random) % 12));
		walked_check(&walked);
	}
}

/* Frames that are found through fp. The sizes of the outer and the inner one add up to the same,
 * so that what lies further in stays where it is while the frame between them moves. */
static NOINLINE void call_inner(size_t bytes, void (*function)(void))
{
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 1;
	function();
	walked_sink += (unsigned)room[0];
}

static void call_inner_and_take(void)
{
	call_inner(64, walked_take_here);
	walked_sink++;
}

static NOINLINE void take_in_a_frame_found_by_fp(void)
{
	volatile char *room = __builtin_alloca(64 + walked_sink % 16);

	room[0] = 1;
	walked_take_here();
	walked_sink += (unsigned)room[0];
}

static NOINLINE void call_outer(size_t bytes, size_t rest, void (*function)(void))
{
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 1;
	if (bytes % 32) {
		WALKED_LINE(1);
		call_inner(rest, function);
		walked_sink += 3;
	} else {
		WALKED_LINE(2);
		call_inner(rest, function);
		walked_sink += 5;
	}
	walked_sink += (unsigned)room[0];
}

static void call_by_chance(uint64_t *random)
{
	static void (*const functions[])(void) = {walked_take_here, call_inner_and_take,
						  take_in_a_frame_found_by_fp};
	uint64_t chance = fixture_random(random);
	size_t bytes = chance % 4 * 16;

	call_outer(64 + bytes, 128 - bytes, functions[(chance >> 4) % 3]);
	walked_sink++;
}

/* Nothing is called in between that would overwrite what the frames have left behind. */
static void a_frame_that_moves_while_inner_ones_stay_is_noticed(void **state)
{
	uint64_t random = 3;

	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned calls = 0; calls < 3; calls++)
			call_by_chance(&random);
		walked_check(&walked);
	}
	assert_int_equal(walked_truncated(), 0);
}

/* Makes its frame end at the same address, wherever it began. */
static NOINLINE void level_and_take(const char *base)
{
	size_t above = (size_t)(base - (const char *)__builtin_frame_address(0));
	volatile char *room = __builtin_alloca(1024 - above);

	room[0] = 1;
	walked_take_here();
	walked_sink += (unsigned)room[0];
}

static NOINLINE void call_with_a_small_frame(const char *base)
{
	level_and_take(base);
	walked_sink++;
}

static NOINLINE void call_with_a_bigger_frame(const char *base)
{
	volatile char room[48];

	room[0] = 1;
	level_and_take(base);
	walked_sink += (unsigned)room[0];
}

static void the_frame_pointer_tells_stacks_apart_that_begin_at_the_same_place(void **state)
{
	uint64_t random = 7;
	char base[16];

	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 500; i++) {
		for (unsigned calls = 0; calls < 3; calls++)
			(fixture_random(&random) % 2 ? call_with_a_small_frame
						     : call_with_a_bigger_frame)(base);
		walked_check(&walked);
	}
	assert_int_equal(walked_truncated(), 0);
}

/* Two bits of `way` for each level: which of two lines, and whether the frame is found through
 * fp. */
static void descend(unsigned levels, unsigned way);

static NOINLINE void descend_by_sp(unsigned levels, unsigned way)
{
	if (way & 1) {
		WALKED_LINE(1);
		descend(levels - 1, way >> 2);
		walked_sink += 3;
	} else {
		WALKED_LINE(2);
		descend(levels - 1, way >> 2);
		walked_sink += 5;
	}
}

static NOINLINE void descend_by_fp(unsigned levels, unsigned way)
{
	volatile char *room = __builtin_alloca(48 + walked_sink % 16);

	room[0] = 1;
	if (way & 1) {
		WALKED_LINE(1);
		descend(levels - 1, way >> 2);
		walked_sink += 3;
	} else {
		WALKED_LINE(2);
		descend(levels - 1, way >> 2);
		walked_sink += 5;
	}
	walked_sink += (unsigned)room[0];
}

static NOINLINE void descend(unsigned levels, unsigned way)
{
	if (levels == 0)
		walked_take_here();
	else if (way & 2)
		descend_by_fp(levels, way);
	else
		descend_by_sp(levels, way);
	walked_sink++;
}

static void a_call_from_another_line_at_any_distance_is_noticed(void **state)
{
	enum { LEVELS = 9 };
	uint64_t random = 5;
	unsigned way = 0;

	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 3000; i++) {
		/* mostly another line somewhere, now and then another kind of frame */
		unsigned level = (unsigned)(fixture_random(&random) % LEVELS);

		way ^= 1u << (2 * level + (i % 16 == 0));
		descend(LEVELS - i % 64 / 60, way);
		walked_check(&walked);
	}
	assert_int_equal(walked_truncated(), 0);
}

static void when_objects_may_have_been_unloaded_the_tables_are_read_anew(void **state)
{
	(void)state;
	walked_begin();
	for (unsigned i = 0; i < 20; i++) {
		walked_recurse(i % 7, take_and_check);
		atomic_fetch_add(&modules_generation, 1);
	}
}

static jmp_buf back;

static void take_and_jump(void)
{
	walked_take_here();
	longjmp(back, 1);
}

static void after_a_longjmp_the_stack_is_the_true_one(void **state)
{
	(void)state;
	walked_begin();
	for (volatile unsigned depth = 0; depth < 20; depth++) {
		if (setjmp(back) == 0)
			walked_recurse_alloca(depth, take_and_jump);
		walked_check(&walked);
		walked_recurse(20 - depth, take_and_check);
	}
}

static uint64_t random_state;
static unsigned budget; /* of calls still to be made */

/* Some way down, take the stack, some way up, down again from another line: what the memo lives
 * on. */
static NOINLINE void wander(void)
{
	while (budget > 0 && fixture_random(&random_state) % 4) {
		unsigned chance = (unsigned)fixture_random(&random_state);
		unsigned depth = chance / 16 % 3;

		budget--;
		switch (chance % 10) {
		case 0:
			walked_recurse(depth, wander);
			break;
		case 1:
			walked_recurse(depth, take_and_check);
			break;
		case 2:
			walked_recurse_big(depth, take_and_check);
			break;
		case 3:
			walked_recurse_alloca(depth, wander);
			break;
		case 4:
			walked_recurse_alloca(depth, take_and_check);
			break;
		case 5:
			walked_recurse_alloca(depth, walked_take_here);
			break;
		case 6:
			walked_recurse_realigned(depth, wander);
			break;
		case 7:
			walked_recurse_realigned(depth, take_and_check);
			break;
		case 8:
			take_and_check();
			break;
		default:
			wander();
		}
		walked_sink += chance % 10;
	}
	take_and_check();
}

static void whatever_was_walked_before_the_stack_is_the_true_one(void **state)
{
	(void)state;
	walked_begin();
	for (unsigned seed = 1; seed <= 500; seed++) {
		random_state = seed;
		budget = 30;
		wander();
	}
	assert_int_equal(walked_truncated(), 0);
}

/* ---- too deep -------------------------------------------------------------------------------- */

static uint32_t find_cut(const struct walked *w)
{
	uint32_t cut = 0, cuts = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		if (w->frames[i].module & SEGMENT_NODE_CUT) {
			cut = i;
			cuts++;
		}
	}
	assert_int_equal(cuts, 1);
	return cut;
}

static void check_both_ends(const struct walked *w)
{
	uint32_t all = w->reference_count, cut = find_cut(w);

	assert_in_range(w->count, WALKED_DEPTH / 2, WALKED_DEPTH);
	assert_in_range(cut, w->count / 4, w->count - w->count / 8);
	for (uint32_t i = 0; i < cut; i++)
		assert_int_equal(w->frames[i].pc, w->reference[i]);
	for (uint32_t i = 1; i < w->count - cut; i++)
		assert_int_equal(w->frames[w->count - i].pc, w->reference[all - i]);
}

static void a_stack_that_is_too_deep_keeps_both_ends_and_is_counted(void **state)
{
	uint64_t counted = 0;

	(void)state;
	walked_begin();
	for (unsigned depth = WALKED_DEPTH; depth < WALKED_DEPTH + 300; depth += 37) {
		walked_recurse(depth, walked_take_here);
		check_both_ends(&walked);
		assert_int_equal(walked_truncated(), ++counted);
		walked_recurse(3, take_and_check);
	}
	assert_int_equal(atomic_load(&thread_self->slot->losses.unwind_failures), 0);
}

static void the_deepest_stack_that_fits_is_not_cut(void **state)
{
	uint32_t base;

	(void)state;
	walked_begin();
	walked_recurse(0, walked_take_here);
	base = walked.count;
	walked_recurse(WALKED_DEPTH - base, walked_take_here);
	walked_check(&walked);
	assert_int_equal(walked.count, WALKED_DEPTH);
	assert_int_equal(walked_truncated(), 0);
	walked_recurse(WALKED_DEPTH - base + 1, walked_take_here);
	assert_int_equal(walked_truncated(), 1);
}

static void the_deepest_stack_that_fits_is_not_cut_when_it_needs_all_registers(void **state)
{
	uint32_t base;

	(void)state;
	if (!walked_can_read_far())
		skip();
	walked_begin();
	walked_forget_stack();
	walked_recurse(0, walked_take_here);
	base = walked.count;
	walked_recurse(WALKED_DEPTH - base, walked_take_here);
	walked_check(&walked);
	assert_int_equal(walked_truncated(), 0);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREAD_STACKS = 20 };
static struct walked thread_stacks[THREAD_STACKS];
static unsigned thread_taken;

static void take_in_thread(void)
{
	walked_take(&thread_stacks[thread_taken++]);
	walked_sink++;
}

static void *walk_in_thread(void *argument)
{
	bool *attached = argument;

	*attached = cold_enter(0, 0);
	for (unsigned i = 0; i < THREAD_STACKS && *attached; i++)
		walked_recurse_alloca(i % 7, take_in_thread);
	fixture_end_thread();
	return NULL;
}

static void in_a_thread_the_stack_ends_where_the_thread_began(void **state)
{
	bool attached = false;
	pthread_t thread;

	(void)state;
	walked_begin();
	assert_int_equal(pthread_create(&thread, NULL, walk_in_thread, &attached), 0);
	(void)pthread_join(thread, NULL);
	assert_true(attached);
	for (unsigned i = 0; i < THREAD_STACKS; i++)
		walked_check(&thread_stacks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_every_depth_the_stack_is_the_one_that_backtrace_finds),
		cmocka_unit_test(big_frames_and_frames_of_unknown_size_are_walked_through),
		cmocka_unit_test(the_program_and_the_c_library_are_told_apart),
		cmocka_unit_test(the_same_stack_has_the_same_node),
		cmocka_unit_test(two_calls_from_different_lines_are_different_stacks),
		cmocka_unit_test(outer_frames_that_have_moved_are_noticed),
		cmocka_unit_test(a_frame_that_moves_while_inner_ones_stay_is_noticed),
		cmocka_unit_test(the_frame_pointer_tells_stacks_apart_that_begin_at_the_same_place),
		cmocka_unit_test(a_call_from_another_line_at_any_distance_is_noticed),
		cmocka_unit_test(when_objects_may_have_been_unloaded_the_tables_are_read_anew),
		cmocka_unit_test(after_a_longjmp_the_stack_is_the_true_one),
		cmocka_unit_test(whatever_was_walked_before_the_stack_is_the_true_one),
		cmocka_unit_test(a_stack_that_is_too_deep_keeps_both_ends_and_is_counted),
		cmocka_unit_test(the_deepest_stack_that_fits_is_not_cut),
		cmocka_unit_test(
			the_deepest_stack_that_fits_is_not_cut_when_it_needs_all_registers),
		cmocka_unit_test(in_a_thread_the_stack_ends_where_the_thread_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
