/* nearby_test.c -- copies of hooks do what the hooks do, wherever they are.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include "capture/arenas.h"
#include "capture/nearby.h"
#include "capture/sieve.h"
#include "capture/thread.h"

/* Low addresses, where no program that is loaded anywhere is. */
#define GOAL	 UINT64_C(0x30000000)
#define DISTANCE (UINT64_C(256) << 20)

#define CONTEXT	 ((void *)0x1230) /* NOLINT: never followed */
#define BLOCK	 ((void *)0x4560) /* NOLINT: never followed */

/* Who was called last: 'i' for what does the work, 'h' for a hook. */
static char called;
static size_t called_bytes;

static void *note(char who, const void *context, size_t bytes)
{
	assert_ptr_equal(context, CONTEXT);
	called = who;
	called_bytes = bytes;
	return BLOCK;
}

#define FUNCTIONS(name, who)                                                         \
	static void *name##_malloc(void *context, size_t bytes)                      \
	{                                                                            \
		return note(who, context, bytes);                                    \
	}                                                                            \
	static void *name##_calloc(void *context, size_t count, size_t bytes)        \
	{                                                                            \
		return note(who, context, count * bytes);                            \
	}                                                                            \
	static void *name##_realloc(void *context, void *block, size_t bytes)        \
	{                                                                            \
		assert_ptr_equal(block, BLOCK);                                      \
		return note(who, context, bytes);                                    \
	}                                                                            \
	static void name##_free(void *context, void *block)                          \
	{                                                                            \
		assert_ptr_equal(block, BLOCK);                                      \
		(void)note(who, context, 0);                                         \
	}                                                                            \
	static const struct allocator name = {CONTEXT, name##_malloc, name##_calloc, \
					      name##_realloc, name##_free};

FUNCTIONS(inner, 'i')
FUNCTIONS(hooks, 'h')

/* Copies of what a sanitizer has put its own calls into are worth nothing. */
static bool is_instrumented(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#else
	return false;
#endif
}

static struct nearby_plan make_plan(void)
{
	return (struct nearby_plan){
		.mem = {inner, hooks}, .obj = {inner, hooks}, .sure_bytes = 512};
}

static bool is_near(const void *function)
{
	uint64_t at = (uint64_t)(uintptr_t)function;

	return at < GOAL && at > GOAL - DISTANCE;
}

static struct nearby_plan place(enum nearby_kind kind)
{
	struct nearby_plan plan = make_plan();

	if (is_instrumented())
		skip();
	nearby_place(&plan, kind, GOAL);
	if (plan.obj.hooks.free == hooks.free) /* not optimised, or nothing may be run there */
		skip();
	assert_true(is_near((const void *)(uintptr_t)plan.obj.hooks.free)); /* NOLINT */
	uint64_t at = (uint64_t)(uintptr_t)plan.mem.hooks.free;
	assert_true(nearby_holds(at) && !nearby_holds(nearby_get_origin(at)));
	return plan;
}

static char ask_malloc(const struct allocator *a, size_t bytes)
{
	called = 0;
	assert_ptr_equal(a->malloc(CONTEXT, bytes), BLOCK);
	assert_int_equal(called_bytes, bytes);
	return called;
}

static char ask_realloc(const struct allocator *a, size_t bytes)
{
	called = 0;
	assert_ptr_equal(a->realloc(CONTEXT, BLOCK, bytes), BLOCK);
	assert_int_equal(called_bytes, bytes);
	return called;
}

static char ask_free(const struct allocator *a)
{
	called = 0;
	a->free(CONTEXT, BLOCK);
	return called;
}

static void an_object_that_is_no_sample_goes_straight_on(void **state)
{
	(void)state;
	struct nearby_plan plan = place(NEARBY_SAMPLED);
	struct thread t = {.small_left = 1000};
	struct thread *before = thread_self;

	thread_self = &t;
	assert_int_equal(ask_malloc(&plan.obj.hooks, 400), 'i');
	assert_int_equal(t.small_left, 599);
	assert_int_equal(ask_realloc(&plan.mem.hooks, 98), 'i');
	assert_int_equal(t.small_left, 500);
	assert_int_equal(ask_malloc(&plan.mem.hooks, 100000), 'i');
	assert_int_equal(t.small_left, 500);
	thread_self = before;
}

static void a_sample_and_its_end_go_to_the_hook(void **state)
{
	(void)state;
	struct nearby_plan plan = place(NEARBY_SAMPLED);
	struct thread t = {.small_left = 100};
	struct thread *before = thread_self;

	thread_self = &t;
	assert_int_equal(ask_malloc(&plan.obj.hooks, 99), 'h');
	assert_int_equal(ask_realloc(&plan.obj.hooks, 99), 'h');
	assert_int_equal(t.small_left, 100);
	assert_int_equal(ask_free(&plan.obj.hooks), 'i');
	sieve_add(BLOCK);
	assert_int_equal(ask_free(&plan.obj.hooks), 'h');
	assert_int_equal(ask_realloc(&plan.mem.hooks, 5), 'h');
	sieve_remove(BLOCK);
	assert_int_equal(ask_free(&plan.mem.hooks), 'i');
	thread_self = before;
}

static void where_all_is_sampled_calls_are_counted(void **state)
{
	(void)state;
	struct nearby_plan plan = place(NEARBY_COUNTED);
	struct thread t = {.allowance = 1000};
	struct thread *before = thread_self;

	thread_self = &t;
	assert_int_equal(ask_malloc(&plan.obj.hooks, 400), 'i');
	assert_int_equal(t.allowance, 599);
	assert_int_equal(t.light.calls[SEGMENT_API_PYTHON], 1);
	assert_int_equal(ask_malloc(&plan.obj.hooks, 0), 'i');
	assert_int_equal(ask_malloc(&plan.obj.hooks, 600), 'i');
	t.allowance = 300;
	assert_int_equal(ask_malloc(&plan.mem.hooks, 400), 'h');
	assert_int_equal(t.light.calls[SEGMENT_API_PYTHON], 1);
	assert_int_equal(ask_free(&plan.mem.hooks), 'h'); /* in no arena */
	arenas_add(BLOCK, 4096);
	assert_int_equal(ask_free(&plan.mem.hooks), 'i');
	assert_int_equal(t.light.frees, 1);
	arenas_remove(BLOCK, 4096);
	thread_self = before;
}

/* While stamps are estimates: the hook reads the clock. */
static void where_all_is_recorded_the_end_of_an_object_is_an_event(void **state)
{
	(void)state;
	struct nearby_plan plan = place(NEARBY_EXACT);
	struct process p = {.clock = PROCESS_CLOCK_ALONE}, *process_before = process;
	struct segment_slot slot = {0};
	uint64_t chunk[64] = {0};
	struct thread t = {.pos = chunk,
			   .limit = chunk + 4,
			   .chunk_limit = chunk + 4,
			   .slot = &slot,
			   .stamp_step = 32,
			   .stamp_end = 160};
	struct thread *before = thread_self;

	process = &p;
	thread_self = &t;
	t.position_bias = 1000 - (uint64_t)(uintptr_t)chunk;
	assert_true(plan.obj.hooks.malloc == hooks.malloc);
	assert_int_equal(ask_free(&plan.mem.hooks), 'h'); /* in no arena */
	arenas_add(BLOCK, 4096);
	assert_int_equal(ask_free(&plan.mem.hooks), 'i');
	assert_int_equal(chunk[0], 1 << 8 | SEGMENT_FREE_PYTHON << 4 | SEGMENT_EVENT_FREE);
	assert_int_equal(chunk[1], (uint64_t)(uintptr_t)BLOCK);
	assert_int_equal(slot.head, 1016);
	assert_ptr_equal(t.limit, t.chunk_limit);
	assert_int_equal(ask_free(&plan.obj.hooks), 'i');
	assert_int_equal(ask_free(&plan.obj.hooks), 'h'); /* the chunk is full */
	t.limit = t.chunk_limit = chunk + 60;
	atomic_store(&p.clock, PROCESS_CLOCK_ORDERED);
	assert_int_equal(ask_free(&plan.obj.hooks), 'h');
	atomic_store(&p.clock, PROCESS_CLOCK_ALONE);
	assert_int_equal(ask_free(&plan.obj.hooks), 'i');
	assert_int_equal(ask_free(&plan.obj.hooks), 'i');
	assert_int_equal(ask_free(&plan.obj.hooks), 'h'); /* it is time to read the clock */
	assert_int_equal(slot.head, 1064);
	assert_ptr_equal(t.limit, t.chunk_limit);
	arenas_remove(BLOCK, 4096);
	thread_self = before;
	process = process_before;
}

static void the_same_hooks_have_one_copy(void **state)
{
	(void)state;
	struct nearby_plan a = place(NEARBY_SAMPLED), b = place(NEARBY_SAMPLED);

	assert_true(a.obj.hooks.malloc == b.obj.hooks.malloc);
}

static void hooks_that_are_close_stay(void **state)
{
	(void)state;
	struct nearby_plan plan = make_plan();

	nearby_place(&plan, NEARBY_SAMPLED, (uint64_t)(uintptr_t)&nearby_place);
	assert_true(plan.obj.hooks.malloc == hooks.malloc);
	assert_true(!nearby_holds((uint64_t)(uintptr_t)hooks.malloc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_that_is_no_sample_goes_straight_on),
		cmocka_unit_test(a_sample_and_its_end_go_to_the_hook),
		cmocka_unit_test(where_all_is_sampled_calls_are_counted),
		cmocka_unit_test(where_all_is_recorded_the_end_of_an_object_is_an_event),
		cmocka_unit_test(the_same_hooks_have_one_copy),
		cmocka_unit_test(hooks_that_are_close_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
