/* cfi_run_test.c -- call frame programs, written byte by byte: every instruction does what DWARF
 * says. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/cfi.h"

#define START 0x1000u /* of the function */

static struct cfi_work work;

/* The CIE says CFA = r7 + 8 and r3 saved at CFA - 16; factors are 4 for code and -8 for data. */
static const uint8_t cie_program[] = {0x0c, 7, 8, 0x83, 2};

static struct cfi_entry entry_of(const uint8_t *program, size_t bytes)
{
	return (struct cfi_entry){.initial = cie_program,
				  .initial_end = cie_program + sizeof(cie_program),
				  .instructions = program,
				  .instructions_end = program + bytes,
				  .pc_start = START,
				  .pc_end = START + 0x100000,
				  .code_align = 4,
				  .data_align = -8,
				  .ra_register = ARCH_REG_RA,
				  .pointer_encoding = 0x04};
}

static bool run(const uint8_t *program, size_t bytes, uint64_t pc)
{
	struct cfi_entry entry = entry_of(program, bytes);

	return cfi_run(&entry, pc, &work);
}

#define RUN_AT(pc, ...) run((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), pc)
#define RUN(...)	RUN_AT(START, __VA_ARGS__)

static void check_cfa(uint32_t reg, int64_t offset)
{
	assert_int_equal(work.row.cfa.kind, CFI_OFFSET);
	assert_int_equal(work.row.cfa_register, reg);
	assert_int_equal(work.row.cfa.value, offset);
}

static void check_rule(uint32_t reg, uint32_t kind, int64_t value)
{
	assert_int_equal(work.row.regs[reg].kind, kind);
	assert_int_equal(work.row.regs[reg].value, value);
}

/* ---- the CFA --------------------------------------------------------------------------------- */

static void an_empty_program_leaves_what_the_cie_says(void **state)
{
	(void)state;
	assert_true(run(cie_program, 0, START));
	check_cfa(7, 8);
	check_rule(3, CFI_OFFSET, -16);
	check_rule(4, CFI_UNSAID, 0);
}

static void the_cfa_is_a_register_and_an_offset(void **state)
{
	(void)state;
	assert_true(RUN(0x0c, 6, 0x90, 0x01)); /* def_cfa r6, 144 */
	check_cfa(6, 144);
}

static void a_new_cfa_register_keeps_the_offset(void **state)
{
	(void)state;
	assert_true(RUN(0x0d, 6));
	check_cfa(6, 8);
}

static void a_new_cfa_offset_keeps_the_register(void **state)
{
	(void)state;
	assert_true(RUN(0x0e, 48));
	check_cfa(7, 48);
}

static void signed_cfa_offsets_are_factored(void **state)
{
	(void)state;
	assert_true(RUN(0x12, 5, 0x7d)); /* def_cfa_sf r5, -3 */
	check_cfa(5, 24);
	assert_true(RUN(0x13, 0x7c)); /* def_cfa_offset_sf -4 */
	check_cfa(7, 32);
}

static void the_cfa_may_be_an_expression(void **state)
{
	static const uint8_t program[] = {0x0f, 3, 0x76, 0x78, 0x06};

	(void)state;
	assert_true(run(program, sizeof(program), START));
	assert_int_equal(work.row.cfa.kind, CFI_VAL_EXPRESSION);
	assert_int_equal(work.row.cfa.length, 3);
	assert_int_equal(work.row.cfa.value, (intptr_t)(program + 2));
}

static void a_cfa_in_a_register_we_do_not_follow_is_refused(void **state)
{
	(void)state;
	assert_false(RUN(0x0c, ARCH_REGS, 8));
	assert_false(RUN(0x12, ARCH_REGS, 1));
	assert_false(RUN(0x0d, ARCH_REGS));
}

/* ---- registers ------------------------------------------------------------------------------- */

static void saved_registers_lie_at_factored_offsets(void **state)
{
	(void)state;
	assert_true(RUN(0x86, 3)); /* offset r6, 3 */
	check_rule(6, CFI_OFFSET, -24);
	assert_true(RUN(0x05, 6, 0x80, 0x01)); /* offset_extended r6, 128 */
	check_rule(6, CFI_OFFSET, -1024);
	assert_true(RUN(0x11, 6, 0x7e)); /* offset_extended_sf r6, -2 */
	check_rule(6, CFI_OFFSET, 16);
	assert_true(RUN(0x2f, 6, 2)); /* GNU_negative_offset_extended r6, 2 */
	check_rule(6, CFI_OFFSET, 16);
}

static void registers_may_be_values_relative_to_the_cfa(void **state)
{
	(void)state;
	assert_true(RUN(0x14, 6, 2));
	check_rule(6, CFI_VAL_OFFSET, -16);
	assert_true(RUN(0x15, 6, 0x7e));
	check_rule(6, CFI_VAL_OFFSET, 16);
}

static void a_register_may_be_undefined_the_same_or_another(void **state)
{
	(void)state;
	assert_true(RUN(0x07, 6));
	check_rule(6, CFI_UNDEFINED, 0);
	assert_true(RUN(0x08, 3));
	check_rule(3, CFI_SAME, 0);
	assert_true(RUN(0x09, 6, 12));
	check_rule(6, CFI_REGISTER, 12);
}

static void a_register_may_be_an_expression(void **state)
{
	static const uint8_t program[] = {0x10, 6, 2, 0x77, 8, 0x16, 3, 1, 0x30};

	(void)state;
	assert_true(run(program, sizeof(program), START));
	check_rule(6, CFI_EXPRESSION, (intptr_t)(program + 3));
	assert_int_equal(work.row.regs[6].length, 2);
	check_rule(3, CFI_VAL_EXPRESSION, (intptr_t)(program + 8));
	assert_int_equal(work.row.regs[3].length, 1);
}

static void a_later_plain_rule_is_no_expression_any_more(void **state)
{
	(void)state;
	assert_true(RUN(0x10, 6, 2, 0x77, 8, 0x86, 1));
	check_rule(6, CFI_OFFSET, -8);
	assert_int_equal(work.row.regs[6].length, 0);
}

static void restore_goes_back_to_the_rule_of_the_cie(void **state)
{
	(void)state;
	assert_true(RUN(0x83, 9, 0xc3)); /* offset r3, 9; restore r3 */
	check_rule(3, CFI_OFFSET, -16);
	assert_true(RUN(0x86, 9, 0x06, 6)); /* offset r6, 9; restore_extended r6 */
	check_rule(6, CFI_UNSAID, 0);
}

static void rules_for_registers_we_do_not_follow_are_passed_over(void **state)
{
	struct cfi_row before;

	(void)state;
	assert_true(run(cie_program, 0, START));
	before = work.row;
	assert_true(RUN(0x05, 0x48, 1, 0x06, 0x48, 0x07, 0x48, 0x08, 0x48, 0x09, 0x48, 1, 0x10,
			0x48, 1, 0x30, 0x16, 0x48, 1, 0x30, 0xbf, 1, 0xff));
	assert_memory_equal(&work.row, &before, sizeof(before));
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Each program moves to START + 4 * distance and says "CFA offset 99" there. */
static void check_move(const uint8_t *program, size_t bytes, uint64_t distance)
{
	assert_true(run(program, bytes, START + 4 * distance - 1));
	check_cfa(7, 8);
	assert_true(run(program, bytes, START + 4 * distance));
	check_cfa(7, 99);
}

#define CHECK_MOVE(distance, ...) \
	check_move((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), distance)

static void rules_hold_from_the_very_place_that_was_advanced_to(void **state)
{
	(void)state;
	CHECK_MOVE(1, 0x41, 0x0e, 99);
	CHECK_MOVE(63, 0x7f, 0x0e, 99);
	CHECK_MOVE(200, 0x02, 200, 0x0e, 99);
	CHECK_MOVE(0x1234, 0x03, 0x34, 0x12, 0x0e, 99);
	CHECK_MOVE(0x11234, 0x04, 0x34, 0x12, 0x01, 0x00, 0x0e, 99);
	CHECK_MOVE(3, 0x41, 0x42, 0x0e, 99);
}

static void a_location_may_be_set_outright(void **state)
{
	static const uint8_t program[] = {0x01, 0x20, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 99};

	(void)state;
	check_move(program, sizeof(program), 8);
}

static void what_lies_beyond_the_pc_is_not_run(void **state)
{
	(void)state;
	assert_true(RUN_AT(START + 3, 0x0e, 99, 0x41, 0x3f));
	check_cfa(7, 99);
	assert_false(RUN_AT(START + 4, 0x0e, 99, 0x41, 0x3f));
}

/* ---- states ---------------------------------------------------------------------------------- */

static void a_remembered_state_comes_back_whole(void **state)
{
	(void)state;
	/* def_cfa_offset 16, offset r6; remember; def_cfa r5 + 32, restore r6, r3 undefined;
	 * restore */
	assert_true(RUN(0x0e, 16, 0x86, 2, 0x0a, 0x0c, 5, 32, 0xc6, 0x07, 3, 0x0b));
	check_cfa(7, 16);
	check_rule(6, CFI_OFFSET, -16);
	check_rule(3, CFI_OFFSET, -16);
}

static void remembered_states_nest(void **state)
{
	(void)state;
	/* 1 ( 2 ( 3 ( 4 ) ) ) with restores in between */
	assert_true(RUN(0x0e, 1, 0x0a, 0x0e, 2, 0x0a, 0x0e, 3, 0x0a, 0x0e, 4, 0x0b));
	check_cfa(7, 3);
	assert_true(RUN(0x0e, 1, 0x0a, 0x0e, 2, 0x0a, 0x0e, 3, 0x0a, 0x0e, 4, 0x0b, 0x0b));
	check_cfa(7, 2);
	assert_true(RUN(0x0e, 1, 0x0a, 0x0e, 2, 0x0a, 0x0e, 3, 0x0a, 0x0e, 4, 0x0b, 0x0b, 0x0b));
	check_cfa(7, 1);
	assert_true(RUN(0x0e, 1, 0x0a, 0x0e, 2, 0x0b, 0x0a, 0x0e, 3, 0x0b));
	check_cfa(7, 1);
}

static void states_nest_as_deep_as_there_is_room_and_no_deeper(void **state)
{
	uint8_t program[2 * (CFI_REMEMBER + 1)];

	(void)state;
	memset(program, 0x0a, CFI_REMEMBER);
	memset(program + CFI_REMEMBER, 0x0b, CFI_REMEMBER);
	assert_true(run(program, 2 * CFI_REMEMBER, START));
	memset(program, 0x0a, CFI_REMEMBER + 1);
	assert_false(run(program, CFI_REMEMBER + 1, START));
}

static void a_state_that_was_never_remembered_cannot_be_restored(void **state)
{
	(void)state;
	assert_false(RUN(0x0b));
	assert_false(RUN(0x0a, 0x0b, 0x0b));
}

/* ---- what says nothing, and what is wrong ---------------------------------------------------- */

static void instructions_that_do_not_bear_on_frames_change_nothing(void **state)
{
	struct cfi_row before;

	(void)state;
	assert_true(run(cie_program, 0, START));
	before = work.row;
	/* nop, PAC state in two forms, args_size, nop */
	assert_true(RUN(0x00, 0x2d, 0x2c, 0x2e, 0x81, 0x01, 0x00));
	assert_memory_equal(&work.row, &before, sizeof(before));
}

static void unknown_instructions_are_refused(void **state)
{
	static const uint8_t unknown[] = {0x17, 0x1c, 0x1d, 0x20, 0x30, 0x38, 0x3e, 0x3f};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++) {
		assert_false(RUN(unknown[i]));
		assert_false(RUN(0x0e, 8, unknown[i], 0x0e, 16));
	}
}

static void an_unknown_instruction_of_the_cie_is_refused(void **state)
{
	static const uint8_t broken[] = {0x0c, 7, 8, 0x3f};
	struct cfi_entry entry = entry_of(cie_program, 0);

	(void)state;
	entry.initial = broken;
	entry.initial_end = broken + sizeof(broken);
	assert_false(cfi_run(&entry, START, &work));
}

static void a_program_that_is_cut_off_inside_an_instruction_is_refused(void **state)
{
	static const struct {
		uint8_t bytes;
		uint8_t program[10];
	} table[] = {
		{9, {0x01, 0x20, 0x10, 0, 0, 0, 0, 0, 0}},
		{2, {0x02, 1}},
		{3, {0x03, 1, 0}},
		{5, {0x04, 1, 0, 0, 0}},
		{3, {0x05, 6, 1}},
		{2, {0x06, 3}},
		{2, {0x07, 3}},
		{2, {0x08, 3}},
		{3, {0x09, 6, 3}},
		{3, {0x0c, 6, 8}},
		{2, {0x0d, 6}},
		{2, {0x0e, 8}},
		{4, {0x0f, 2, 0x77, 8}},
		{5, {0x10, 6, 2, 0x77, 8}},
		{3, {0x11, 6, 1}},
		{3, {0x12, 6, 1}},
		{2, {0x13, 1}},
		{3, {0x14, 6, 1}},
		{3, {0x15, 6, 1}},
		{5, {0x16, 6, 2, 0x77, 8}},
		{2, {0x2e, 1}},
		{3, {0x2f, 6, 1}},
		{2, {0x86, 1}},
		{3, {0x86, 0x81, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_true(run(table[i].program, table[i].bytes, START + 0x1000));
		for (size_t bytes = 1; bytes < table[i].bytes; bytes++)
			assert_false(run(table[i].program, bytes, START + 0x1000));
	}
}

/* The program ends where the readable memory does: a read too many would fault. */
static void random_programs_are_run_or_refused_but_never_read_beyond_their_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 12345;
	unsigned accepted = 0;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	for (unsigned i = 0; i < 100000; i++) {
		size_t bytes = i % 24 + 1;

		for (size_t at = page - bytes; at < page; at++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			memory[at] = (uint8_t)(random >> 56);
		}
		accepted += run(memory + page - bytes, bytes, UINT64_MAX);
	}
	assert_in_range(accepted, 1, 99999);
	(void)munmap(memory, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_program_leaves_what_the_cie_says),
		cmocka_unit_test(the_cfa_is_a_register_and_an_offset),
		cmocka_unit_test(a_new_cfa_register_keeps_the_offset),
		cmocka_unit_test(a_new_cfa_offset_keeps_the_register),
		cmocka_unit_test(signed_cfa_offsets_are_factored),
		cmocka_unit_test(the_cfa_may_be_an_expression),
		cmocka_unit_test(a_cfa_in_a_register_we_do_not_follow_is_refused),
		cmocka_unit_test(saved_registers_lie_at_factored_offsets),
		cmocka_unit_test(registers_may_be_values_relative_to_the_cfa),
		cmocka_unit_test(a_register_may_be_undefined_the_same_or_another),
		cmocka_unit_test(a_register_may_be_an_expression),
		cmocka_unit_test(a_later_plain_rule_is_no_expression_any_more),
		cmocka_unit_test(restore_goes_back_to_the_rule_of_the_cie),
		cmocka_unit_test(rules_for_registers_we_do_not_follow_are_passed_over),
		cmocka_unit_test(rules_hold_from_the_very_place_that_was_advanced_to),
		cmocka_unit_test(a_location_may_be_set_outright),
		cmocka_unit_test(what_lies_beyond_the_pc_is_not_run),
		cmocka_unit_test(a_remembered_state_comes_back_whole),
		cmocka_unit_test(remembered_states_nest),
		cmocka_unit_test(states_nest_as_deep_as_there_is_room_and_no_deeper),
		cmocka_unit_test(a_state_that_was_never_remembered_cannot_be_restored),
		cmocka_unit_test(instructions_that_do_not_bear_on_frames_change_nothing),
		cmocka_unit_test(unknown_instructions_are_refused),
		cmocka_unit_test(an_unknown_instruction_of_the_cie_is_refused),
		cmocka_unit_test(a_program_that_is_cut_off_inside_an_instruction_is_refused),
		cmocka_unit_test(
			random_programs_are_run_or_refused_but_never_read_beyond_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
