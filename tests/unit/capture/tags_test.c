/* tags_test.c -- a thread's tree of tags: found again, full, handed on.
 * Runs: as a unit test, also under sanitizers. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>

#include "midden/midden.h"

static const struct segment_tag *current(void)
{
	return thread_self->tags.at;
}

static const char *name_of(const struct segment_tag *tag)
{
	return thread_self->tags.text + tag->name;
}

static uint64_t lost(void)
{
	return atomic_load(&process->header->tag_losses.lost_pushes);
}

static int set_up(void **state)
{
	(void)state;
	FIXTURE_BEGIN(0);
	return 0;
}

static void a_tag_is_found_again_by_its_name_not_by_its_address(void **state)
{
	char first[] = "one", second[] = "one";

	(void)state;
	uint64_t handle = midden_tag_push(first);
	midden_tag_pop();
	assert_int_equal(midden_tag_push(second), handle);
	midden_tag_pop();
	strcpy(first, "two");
	assert_int_not_equal(midden_tag_push(first), handle);
	assert_string_equal(name_of(current()), "two");
	midden_tag_pop();
	assert_int_equal(midden_tag_current(), 0);
	assert_int_equal(process->header->tags_used, 3); /* with the root */
}

static void names_of_two_parts_are_those_of_one(void **state)
{
	(void)state;
	uint64_t handle = midden_tag_push("Class::function");
	midden_tag_pop();
	assert_int_equal(midden_tag_push_method("Class", "function"), handle);
	midden_tag_pop();
	assert_int_not_equal(midden_tag_push_method("Class:", ":function"), handle);
	assert_string_equal(name_of(current()), "Class::::function");
	midden_tag_pop();
}

/* The table of the fixture has 1,023 tags. */
static void a_full_table_keeps_pushes_and_pops_in_step(void **state)
{
	char name[16];

	(void)state;
	midden_tag_push("outer");
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "child %d", i);
		midden_tag_push(name);
		midden_tag_push("inner");
		midden_tag_pop();
		midden_tag_pop();
		assert_string_equal(name_of(current()), "outer");
	}
	assert_true(lost() > 0);
	assert_int_equal(atomic_load(&process->header->tags_used), 1023);
	uint64_t before = lost();
	uint64_t handle = midden_tag_push("another");
	assert_int_equal(handle, 0);
	midden_tag_leave(handle);
	midden_tag_push("child 0"); /* those that are there are found */
	assert_string_equal(name_of(current()), "child 0");
	midden_tag_pop();
	midden_tag_pop();
	assert_int_equal(midden_tag_current(), 0);
	assert_int_equal(lost(), before + 1);
	assert_int_equal(atomic_load(&process->header->tag_losses.unmatched_pops), 0);
}

static void a_name_that_has_no_room_is_lost_and_nothing_else(void **state)
{
	char *name = malloc(70000);

	(void)state;
	memset(name, 'x', 69999);
	name[69999] = '\0';
	errno = EXDEV;
	midden_tag_push(name);
	assert_int_equal(errno, EXDEV);
	midden_tag_pop();
	assert_int_equal(lost(), 1);
	midden_tag_push("short");
	assert_string_equal(name_of(current()), "short");
	midden_tag_pop();
	free(name);
}

static void leaving_a_tag_leaves_those_inside(void **state)
{
	(void)state;
	uint64_t outer = midden_tag_push("outer");
	uint64_t inner = midden_tag_push("inner");
	midden_tag_push("innermost");
	midden_tag_leave(outer);
	assert_int_equal(midden_tag_current(), 0);
	assert_int_equal(atomic_load(&process->header->tag_losses.skipped_pops), 2);
	midden_tag_leave(inner); /* is not open any more */
	assert_int_equal(atomic_load(&process->header->tag_losses.unmatched_pops), 1);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(thread_self->tags.base[i].open, 0);
}

static void a_handle_of_another_process_or_of_none_is_no_tag(void **state)
{
	(void)state;
	uint64_t handle = midden_tag_push("here");
	midden_tag_push("inside");
	(void)midden_tag_adopt(handle ^ UINT64_C(1) << 40);
	assert_int_equal(midden_tag_current(), 0);
	(void)midden_tag_adopt((handle & ~UINT64_C(0xffffffff)) | 900);
	assert_int_equal(midden_tag_current(), 0);
	(void)midden_tag_adopt((handle & ~UINT64_C(0xffffffff)) | 0xffffffff);
	assert_int_equal(midden_tag_current(), 0);
	assert_int_equal(atomic_load(&process->header->tag_losses.stale_handles), 3);
	assert_int_equal(midden_tag_adopt(handle), 0);
	assert_int_equal(midden_tag_current(), handle);
	midden_tag_pop();
}

static void *adopt(void *argument)
{
	const uint64_t *handle = argument;

	(void)midden_tag_adopt(*handle);
	bool same = strcmp(name_of(current()), "inner") == 0 &&
		    strcmp(name_of(thread_self->tags.base + current()->parent), "outer") == 0;
	midden_tag_adopt(0);
	return same && midden_tag_current() == 0 ? NULL : argument;
}

static void a_thread_gets_the_path_of_another_in_a_tree_of_its_own(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	midden_tag_push("outer");
	uint64_t handle = midden_tag_push("inner");
	assert_int_equal(pthread_create(&thread, NULL, adopt, &handle), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	assert_int_equal(atomic_load(&process->header->tags_used), 6);
	midden_tag_pop();
	midden_tag_pop();
}

static void a_process_that_is_not_recorded_counts_nothing(void **state)
{
	(void)state;
	fixture_forget();
	atomic_store(&process->state, PROCESS_OFF);
	assert_int_equal(midden_tag_push("name"), 0);
	midden_tag_pop();
	midden_tag_leave(0);
	assert_int_equal(midden_tag_adopt(77), 0);
	assert_int_equal(midden_tag_current(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_tag_is_found_again_by_its_name_not_by_its_address, set_up),
		cmocka_unit_test_setup(names_of_two_parts_are_those_of_one, set_up),
		cmocka_unit_test_setup(a_full_table_keeps_pushes_and_pops_in_step, set_up),
		cmocka_unit_test_setup(a_name_that_has_no_room_is_lost_and_nothing_else, set_up),
		cmocka_unit_test_setup(leaving_a_tag_leaves_those_inside, set_up),
		cmocka_unit_test_setup(a_handle_of_another_process_or_of_none_is_no_tag, set_up),
		cmocka_unit_test_setup(a_thread_gets_the_path_of_another_in_a_tree_of_its_own,
				       set_up),
		cmocka_unit_test_setup(a_process_that_is_not_recorded_counts_nothing, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
