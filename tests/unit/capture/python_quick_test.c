/* python_quick_test.c -- a stack of Python is found by comparing only if nothing has changed, or to
 * what is known. Runs: as a unit test, also under AddressSanitizer.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "python_quick_fixture.h"

static void the_stack_of_the_last_walk_has_its_node(void **unused)
{
	(void)unused;
	assert_int_equal(find(), 33);
	assert_int_equal(find(), 33); /* as a whole */
	assert_int_equal(python_memo_count(&quick->memo), DEPTH);
}

static void any_frame_that_has_gone_on_to_something_unknown_is_seen(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < DEPTH; i++) {
		set_frame(i, CODE(i), AT(i, 51));
		assert_int_equal(find(), 0);
		assert_int_equal(python_memo_count(&quick->memo),
				 i); /* what is further out holds */
		set_frame(i, CODE(i), AT(i, 50));
		remember(0, DEPTH - 1);
		assert_int_equal(find(), 33);
	}
}

static void any_frame_with_another_one_outside_of_it_is_seen(void **unused)
{
	(void)unused;
	for (uint32_t i = 1; i < DEPTH; i++) {
		frames[i][o->frame_previous / 8] = address_of(frames[ROOM]);
		assert_int_equal(find(), 0);
		set_frame(i, CODE(i), AT(i, 50));
		remember(0, DEPTH - 1);
		assert_int_equal(find(), 33);
	}
}

static void frames_that_go_where_they_have_been_have_the_nodes_of_then(void **unused)
{
	const uint32_t inner = DEPTH - 1;

	(void)unused;
	set_frame(inner, CODE(inner), AT(inner, 60));
	assert_int_equal(find(), 0);
	remember(inner, inner);
	quick->memo.links[inner].node = 40; /* as if it had been another one */
	struct python_memo_step *s =
		python_memo_steps(&quick->memo, inner, &quick->memo.frames[inner]);
	s->node = 40;
	remember_end(40, 44);
	assert_int_equal(find(), 44);
	set_frame(inner, CODE(inner), AT(inner, 50));
	assert_int_equal(find(), 33);
	set_frame(inner, CODE(inner), AT(inner, 60));
	assert_int_equal(find(), 44);
}

/* The innermost one has not: it leads to another node all the same. */
static void a_frame_inside_of_one_that_has_gone_on_has_the_node_of_both(void **unused)
{
	const uint32_t inner = DEPTH - 1;

	(void)unused;
	assert_int_equal(find(), 33);
	set_frame(inner - 1, CODE(inner - 1), AT(inner - 1, 60));
	remember_step(inner - 1, inner - 1, 40);
	remember_step(inner, 40, 41);
	remember_end(41, 44);
	for (uint32_t i = 0; i < 3; i++) {
		set_frame(inner - 1, CODE(inner - 1), AT(inner - 1, 60));
		assert_int_equal(find(), 44);
		set_frame(inner - 1, CODE(inner - 1), AT(inner - 1, 50));
		assert_int_equal(find(), 33);
	}
}

/* A walk that looks things up finds none of what the memo's frame says, which has gone on. */
static void what_the_memo_knows_of_a_frame_is_not_of_another_instruction(void **unused)
{
	const uint32_t inner = DEPTH - 1;
	const struct python_memo_link *leaf = &quick->memo.links[inner];

	(void)unused;
	assert_int_equal(find(), 33);
	assert_false(leaf->is_stale);
	set_frame(inner, CODE(inner), AT(inner, 60));
	remember_step(inner, inner, 40);
	remember_end(40, 44);
	assert_int_equal(find(), 44);
	assert_int_equal(quick->memo.frames[inner].node, 40);
	set_frame(inner, CODE(inner), AT(inner, 50));
	assert_int_equal(find(), 33);
	assert_true(leaf->is_stale);
	remember(inner, inner);
	assert_false(leaf->is_stale);
}

static void a_changed_return_address_is_seen(void **unused)
{
	(void)unused;
	assert_int_equal(find(), 33);
	stack[20] ^= 1;
	assert_int_equal(find(), 0);
	stack[20] ^= 1;
	stack[12] ^= UINT64_C(1) << 40;
	assert_int_equal(find(), 0);
	stack[12] ^= UINT64_C(1) << 40;
	assert_int_equal(find(), 33);
	start.pc++;
	assert_int_equal(find(), 0);
}

/* They differ in the second return address, and are found without the table of ends. */
static void ends_that_begin_alike_are_all_known(void **unused)
{
	const uint32_t count = 4;

	(void)unused;
	start.pc = PC + 16;
	for (uint32_t i = 0; i < count; i++) {
		stack[20] = 0xc000 + i;
		remember_end(DEPTH, 34 + i);
		assert_int_equal(find(), 34 + i);
	}
	python_leaf_forget(&quick->leaves);
	for (uint32_t i = 0; i < 20 * count; i++) {
		stack[20] = 0xc000 + i % count;
		assert_int_equal(find(), 34 + i % count);
	}
}

/* Two that would be in one place. */
static void ends_below_different_functions_do_not_drive_each_other_out(void **unused)
{
	struct python_leaves *table = &quick->leaves;
	const struct python_leaf *s = python_leaf_find(table, &start, address_of(&stack[LOOP]),
						       address_of(&stack[STACK]));
	uint32_t other = 2;

	(void)unused;
	assert_non_null(s);
	while (python_leaf_pairs(table, s, other) != python_leaf_pairs(table, s, 1))
		other++;
	python_leaf_note_node(table, s, 1, 34);
	python_leaf_note_node(table, s, other, 35);
	assert_int_equal(python_leaf_find_node(table, s, 1), 34);
	assert_int_equal(python_leaf_find_node(table, s, other), 35);
}

/* More return addresses than are compared at first. */
static void each_word_of_a_long_end_is_compared(void **unused)
{
	struct memo_frame native[7];

	(void)unused;
	start.pc = PC + 16;
	for (uint32_t i = 0; i < 7; i++) {
		stack[12 + i] = 0xa000 + i;
		native[i] = (struct memo_frame){.place = 5 + i,
						.ra_at = address_of(&stack[12 + i]),
						.ra_value = stack[12 + i]};
	}
	remember_frames(native, 7, DEPTH, 35);
	assert_int_equal(find(), 35);
	for (uint32_t i = 0; i < 6; i++) {
		stack[12 + i] ^= 4;
		assert_int_equal(find(), 0);
		stack[12 + i] ^= 4;
		assert_int_equal(find(), 35);
	}
}

/* As many as an end can have, and found without the table of ends. */
static void each_word_of_the_longest_end_is_compared(void **unused)
{
	struct memo_frame native[12];

	(void)unused;
	start.pc = PC + 16;
	for (uint32_t i = 0; i < 12; i++) {
		stack[12 + 2 * i] = 0xa000 + i;
		native[i] = (struct memo_frame){.place = 5 + i,
						.ra_at = address_of(&stack[12 + 2 * i]),
						.ra_value = stack[12 + 2 * i]};
	}
	remember_frames(native, 12, DEPTH, 35);
	assert_int_equal(find(), 35);
	python_leaf_forget(&quick->leaves);
	assert_int_equal(find(), 35);
	for (uint32_t i = 0; i < 11; i++) {
		stack[12 + 2 * i] ^= 4;
		assert_int_equal(find(), 0);
		stack[12 + 2 * i] ^= 4;
		assert_int_equal(find(), 35);
	}
}

/* Its first frame is found by fp, and so is the loop's, by what the second has saved of it. */
static void an_end_that_hangs_on_the_frame_pointer_is_compared_with_it(void **unused)
{
	struct memo_frame native[3] = {
		{.place = 5, .ra_at = address_of(&stack[12]), .ra_value = stack[12]},
		{.place = 6, .ra_at = address_of(&stack[20]), .ra_value = stack[20]},
		{.place = 7, .ra_at = address_of(&stack[50]), .ra_value = stack[50]}};

	(void)unused;
	start.pc = PC + 16;
	start.fp = address_of(&stack[11]);
	stack[19] = address_of(&stack[49]);
	native[0].flags = native[2].flags = MEMO_USES_FP;
	native[1].fp_at = address_of(&stack[19]);
	native[1].fp_value = stack[19];
	remember_frames(native, 3, DEPTH, 35);
	assert_int_equal(find(), 35);
	python_leaf_forget(&quick->leaves);
	assert_int_equal(find(), 35);
	stack[19] += 8;
	assert_int_equal(find(), 0);
	stack[19] -= 8;
	start.fp += 8;
	assert_int_equal(find(), 0);
	start.fp -= 8;
	assert_int_equal(find(), 35);
}

/* The end is the same, two words further in, and so is the loop that it leads to. */
static void the_same_end_at_another_height_is_known(void **unused)
{
	(void)unused;
	start.sp -= 16;
	stack[10] = stack[12];
	stack[18] = stack[20];
	state[o->thread_cframe / 8] = address_of(&stack[LOOP - 2]);
	stack[LOOP - 2 + o->cframe_frame / 8] = address_of(frames[DEPTH - 1]);
	assert_int_equal(find(), 33);
}

static void words_beyond_the_stack_are_not_read(void **unused)
{
	(void)unused;
	assert_int_equal(find(), 33);
	thread->stack.high = address_of(&stack[20]);
	assert_int_equal(find(), 0);
}

static void a_freed_code_object_ends_all_that_is_known(void **unused)
{
	(void)unused;
	atomic_fetch_add(&python_memo_codes_ended, 1);
	assert_int_equal(find(), 0);
}

/* Also once walks may be quick again. */
static void what_was_known_before_a_code_object_was_freed_is_not_asked(void **unused)
{
	(void)unused;
	assert_int_equal(find(), 33);
	quick->memo.codes_ended = atomic_fetch_add(&python_memo_codes_ended, 1) + 1;
	python_quick_allow(quick, address_of(state), GENERATION);
	remember_end(DEPTH, 34);
	assert_int_equal(find(), 34);
}

/* They are counted in 32 bits. */
static void when_counting_freed_code_objects_begins_again_nothing_is_known(void **unused)
{
	(void)unused;
	assert_int_equal(quick->epoch, 1);
	assert_int_equal(find(), 33);
	quick->epoch = UINT32_MAX;
	quick->memo.codes_ended = atomic_fetch_add(&python_memo_codes_ended, 1) + 1;
	python_quick_allow(quick, address_of(state), GENERATION);
	assert_int_equal(quick->epoch, 1);
	remember_end(DEPTH, 34);
	assert_int_equal(find(), 34);
}

static void an_unloaded_library_ends_all_that_is_known(void **unused)
{
	(void)unused;
	atomic_fetch_add(&modules_generation, 1);
	assert_int_equal(find(), 0);
}

static void a_thread_state_that_has_become_another_threads_is_not_read(void **unused)
{
	(void)unused;
	state[o->thread_id / 8]++;
	assert_int_equal(find(), 0);
}

static void what_is_known_to_return_the_thread_state_is_not_called(void **unused)
{
	static uint64_t current;

	(void)unused;
	quick->get_current = NULL;
	quick->current_at = address_of(&current);
	quick->current_mask = 0;
	current = address_of(state);
	assert_int_equal(find(), 33);
	current = 0; /* it has let go of the GIL */
	assert_int_equal(find(), 0);
}

/* As compilers write them: the word is at an address, or each thread has its own. */
uint64_t python_quick_test_word = 4711;
_Thread_local uint64_t python_quick_test_own __attribute__((tls_model("local-exec"))) = 4712;
extern const uint8_t get_word[], get_own[], get_next[];

/* Global, since aarch64's assembler asks for the table of addresses by section and not by name for
 * others, and the table has the begin of that. */
__asm__(".globl get_word, get_own, get_next\n");

#ifdef __x86_64__
__asm__(".text\n"
	"get_word:\n"
	"endbr64\n"
	"mov python_quick_test_word(%rip), %rax\n"
	"ret\n"
	"get_own:\n"
	"mov %fs:python_quick_test_own@tpoff, %rax\n"
	"ret\n"
	"get_next:\n"
	"mov python_quick_test_word(%rip), %rax\n"
	"add $1, %rax\n"
	"ret\n");
#else
__asm__(".text\n"
	".balign 4096\n"
	".skip 4092\n" /* adrp is on the next page */
	"get_word:\n"
	"hint #34\n" /* bti c */
	"adrp x0, python_quick_test_word\n"
	"ldr x0, [x0, :lo12:python_quick_test_word]\n"
	"ret\n"
	"get_own:\n"
	"mrs x1, tpidr_el0\n"
	"add x1, x1, #:tprel_hi12:python_quick_test_own, lsl #12\n"
	"add x1, x1, #:tprel_lo12_nc:python_quick_test_own\n"
	"ldr x0, [x1]\n"
	"ret\n"
	"get_next:\n"
	"adrp x0, python_quick_test_word\n"
	"ldr x0, [x0, :lo12:python_quick_test_word]\n"
	"add x0, x0, #1\n"
	"ret\n");
#endif

static uint64_t read_returned(const uint8_t *code)
{
	uint64_t at;
	bool is_of_thread;

	if (!arch_find_returned(code, &at, &is_of_thread))
		return 0;
	at += is_of_thread ? arch_thread_pointer() : 0;
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT */
}

static void it_is_known_what_a_function_returns_that_does_nothing_else(void **unused)
{
	(void)unused;
	assert_int_equal(read_returned(get_word), 4711);
	assert_int_equal(read_returned(get_own), 4712);
	assert_int_equal(read_returned(get_next), 0);
}

static void pages_are_asked_for_again_after_a_while(void **unused)
{
	(void)unused;
	quick->left = 1;
	assert_int_equal(find(), 33);
	assert_int_equal(find(), 0);
}

/* It depends on more than its words whether such a frame is shown. */
static void a_frame_before_its_first_line_is_looked_at_each_time(void **unused)
{
	const uint32_t inner = DEPTH - 1;
	const uint64_t owner = address_of(frames[inner]) + o->frame_owner;
	struct python_memo_frame *f = &quick->memo.frames[inner];

	(void)unused;
	*(uint8_t *)(uintptr_t)owner = 0; /* NOLINT */
	quick->memo.fresh[0] = *f;
	quick->memo.fresh[0].early = 1; /* one more than its owner */
	quick->memo.fresh[0].is_shown = false;
	quick->memo.fresh[0].instruction = ~AT(inner, 1);
	set_frame(inner, CODE(inner), AT(inner, 1));
	const struct python_memo_walk w = {.kept = inner, .fresh = 1};
	python_memo_commit(&quick->memo, &w, nodes, inner);
	remember_end(inner, 36);
	assert_int_equal(find(), 36);
	assert_int_equal(find(), 36);
	*(uint8_t *)(uintptr_t)owner = PYTHON_OWNER_GENERATOR; /* NOLINT */
	assert_int_equal(find(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_stack_of_the_last_walk_has_its_node),
		TEST(any_frame_that_has_gone_on_to_something_unknown_is_seen),
		TEST(any_frame_with_another_one_outside_of_it_is_seen),
		TEST(frames_that_go_where_they_have_been_have_the_nodes_of_then),
		TEST(a_frame_inside_of_one_that_has_gone_on_has_the_node_of_both),
		TEST(what_the_memo_knows_of_a_frame_is_not_of_another_instruction),
		TEST(a_changed_return_address_is_seen),
		TEST(ends_that_begin_alike_are_all_known),
		TEST(ends_below_different_functions_do_not_drive_each_other_out),
		TEST(each_word_of_a_long_end_is_compared),
		TEST(each_word_of_the_longest_end_is_compared),
		TEST(an_end_that_hangs_on_the_frame_pointer_is_compared_with_it),
		TEST(the_same_end_at_another_height_is_known),
		TEST(words_beyond_the_stack_are_not_read),
		TEST(a_freed_code_object_ends_all_that_is_known),
		TEST(what_was_known_before_a_code_object_was_freed_is_not_asked),
		TEST(when_counting_freed_code_objects_begins_again_nothing_is_known),
		TEST(an_unloaded_library_ends_all_that_is_known),
		TEST(a_thread_state_that_has_become_another_threads_is_not_read),
		TEST(what_is_known_to_return_the_thread_state_is_not_called),
		TEST(it_is_known_what_a_function_returns_that_does_nothing_else),
		TEST(pages_are_asked_for_again_after_a_while),
		TEST(a_frame_before_its_first_line_is_looked_at_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
