/* walk_quick_test.c -- a walk that was done before is answered by comparing, and only then.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include "capture/walk_quick.h"

static struct {
	uint32_t quick; /* 0: it did not know */
	uint32_t node;
	uint32_t known, unknown; /* how often */
	struct walk_start start;
} asked;

/* Stands for a hook. What the quick walk says must be what a walk without anything remembered
 * finds. */
static NOINLINE void ask(void)
{
	asked.start = WALK_START();
	fixture_unpoison_stack();
	asked.quick = walk_quick_try(thread_self, &asked.start);
	asked.node = walk_tagged(thread_self, &asked.start);
	if (asked.quick) {
		assert_int_equal(asked.quick, asked.node);
		asked.known++;
	} else {
		asked.unknown++;
	}
	walked_sink++;
}

/* The same, and beside the other unwinder. */
static NOINLINE void ask_and_check(void)
{
	ask();
	walked_take_here();
	walked_check(&walked);
}

static void begin(void)
{
	walked_begin();
	asked.known = 0;
	asked.unknown = 0;
}

static NOINLINE void ask_from(unsigned line)
{
	if (line == 1) {
		WALKED_LINE(1);
		ask();
		walked_sink++;
	} else {
		WALKED_LINE(2);
		ask();
		walked_sink += 2;
	}
	walked_sink++;
}

static void one_place_is_known_from_the_third_time_on(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 10; i++)
		ask_from(1);
	assert_int_equal(asked.unknown, 2);
	assert_int_equal(asked.known, 8);
}

static void several_places_below_one_frame_are_known_by_turns(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 100; i++)
		ask_from(i % 2);
	assert_in_range(asked.known, 90, 99);
}

static NOINLINE void ask_by(void (*way)(unsigned, void (*)(void)), unsigned depth)
{
	walked_sink = 0; /* on which the size of some frames hangs */
	way(depth, ask);
	walked_sink++;
}

static void frames_that_are_found_through_fp_are_known(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 20; i++)
		ask_by(walked_recurse_alloca, i / 10);
	assert_in_range(asked.known, 14, 18);
	for (volatile unsigned i = 0; i < 10; i++)
		ask_by(walked_recurse_realigned, 2);
	assert_true(asked.known >= 20);
}

static void after_unloading_nothing_is_known(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 5; i++)
		ask_from(1);
	atomic_fetch_add(&modules_generation, 1);
	asked.known = 0;
	for (volatile unsigned i = 0; i < 3; i++)
		ask_from(1);
	assert_int_equal(asked.known, 1);
}

/* From within the frames that were walked: others may be written over. */
static NOINLINE void ask_and_forget(void)
{
	ask();
	if (!asked.quick)
		return;
	assert_int_equal(walk_quick_try(thread_self, &asked.start), asked.node);
	memo_clear(&thread_self->memo);
	assert_int_equal(walk_quick_try(thread_self, &asked.start), 0);
}

static void when_the_memo_has_changed_nothing_is_known(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 12; i++)
		walked_recurse(2, ask_and_forget);
	assert_true(asked.known >= 2);
}

/* The table stays when a thread ends, and so do the numbers of memos. */
static void the_next_thread_in_a_place_does_not_know_the_memo_of_the_last(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 5; i++)
		ask_from(1);
	struct thread *t = thread_self;
	uint64_t serial = t->memo.serial;
	uint32_t index = t->slot_index;
	thread_abandon(t);
	/* As the collector does once it has read what is there. */
	atomic_store(&process_slot(index)->next_free, 0);
	atomic_store(&process->header->free_slots, index);
	assert_true(cold_enter(0, 0));
	assert_ptr_equal(thread_self, t);
	assert_true(t->memo.serial > serial);
}

static void start_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	const struct walk_start start = {.pc = pc, .sp = sp, .fp = fp};

	assert_int_equal(walk_quick_try(thread_self, &start), 0);
}

static NOINLINE void ask_from_elsewhere(void)
{
	ask();
	const struct walk_start s = asked.start;
	if (!asked.quick)
		return;
	assert_int_equal(walk_quick_try(thread_self, &s), asked.node);
	start_at(s.pc + 1, s.sp, s.fp);
	start_at(s.pc, s.sp + 16, s.fp);
	start_at(s.pc, s.sp - 16, s.fp);
	start_at(s.pc, 0, s.fp);
	start_at(s.pc, UINT64_MAX & ~UINT64_C(7), 0);
	start_at(0, 0, 0);
}

static void another_start_is_not_known(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 5; i++)
		walked_recurse(2, ask_from_elsewhere);
	assert_int_equal(asked.known, 3);
}

/* Makes every return address of the memo, one after the other, another one for a moment. */
static NOINLINE void ask_with_changed_words(void)
{
	const struct memo *m = &thread_self->memo;
	uint32_t noticed = 0;

	ask();
	for (uint32_t i = 0; i < m->count && asked.quick; i++) {
		volatile uint64_t *word = (uint64_t *)(uintptr_t)m->frames[i].ra_at; /* NOLINT */

		if (!word)
			continue;
		*word ^= 16;
		uint32_t changed = walk_quick_try(thread_self, &asked.start);
		*word ^= 16;
		assert_int_equal(changed, 0);
		assert_int_equal(walk_quick_try(thread_self, &asked.start), asked.node);
		noticed++;
	}
	assert_true(!asked.quick || noticed >= 3);
}

static void a_word_that_has_changed_is_noticed(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned i = 0; i < 10; i++)
		walked_recurse(i / 5 * 8, ask_with_changed_words);
	assert_int_equal(asked.known, 6);
}

static void by_chance(unsigned depth, uint64_t *random)
{
	uint64_t chance = fixture_random(random);

	if (depth == 0)
		walked_recurse((unsigned)(chance % 3), ask_and_check);
	else if (chance % 4 == 0)
		walked_recurse_alloca((unsigned)(chance >> 4 & 1), ask_and_check);
	else if (chance % 4 == 1)
		walked_recurse_realigned((unsigned)(chance >> 4 & 1), ask_and_check);
	else
		by_chance(depth - 1, random);
	walked_sink++;
}

static void whatever_was_walked_before_what_is_known_is_true(void **state)
{
	uint64_t random = 11;

	(void)state;
	begin();
	for (unsigned i = 0; i < 3000; i++)
		by_chance(i / 100 % 4, &random);
	assert_true(asked.known > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_place_is_known_from_the_third_time_on),
		cmocka_unit_test(several_places_below_one_frame_are_known_by_turns),
		cmocka_unit_test(frames_that_are_found_through_fp_are_known),
		cmocka_unit_test(after_unloading_nothing_is_known),
		cmocka_unit_test(when_the_memo_has_changed_nothing_is_known),
		cmocka_unit_test(the_next_thread_in_a_place_does_not_know_the_memo_of_the_last),
		cmocka_unit_test(another_start_is_not_known),
		cmocka_unit_test(a_word_that_has_changed_is_noticed),
		cmocka_unit_test(whatever_was_walked_before_what_is_known_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
