/* cfi_evaluate_test.c -- DWARF expressions: every operator, and every way to be wrong.
 * Runs: as a unit test.
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

enum {
	ADDR = 0x03,
	DEREF = 0x06,
	CONST1U = 0x08,
	CONST1S = 0x09,
	CONST2U = 0x0a,
	CONST2S = 0x0b,
	CONST4U = 0x0c,
	CONST4S = 0x0d,
	CONST8U = 0x0e,
	CONST8S = 0x0f,
	CONSTU = 0x10,
	CONSTS = 0x11,
	DUP = 0x12,
	DROP = 0x13,
	OVER = 0x14,
	PICK = 0x15,
	SWAP = 0x16,
	ROT = 0x17,
	ABS = 0x19,
	AND = 0x1a,
	DIV = 0x1b,
	MINUS = 0x1c,
	MOD = 0x1d,
	MUL = 0x1e,
	NEG = 0x1f,
	NOT = 0x20,
	OR = 0x21,
	PLUS = 0x22,
	PLUS_UCONST = 0x23,
	SHL = 0x24,
	SHR = 0x25,
	SHRA = 0x26,
	XOR = 0x27,
	BRA = 0x28,
	EQ = 0x29,
	GE = 0x2a,
	GT = 0x2b,
	LE = 0x2c,
	LT = 0x2d,
	NE = 0x2e,
	SKIP = 0x2f,
	LIT0 = 0x30,
	BREG0 = 0x70,
	BREGX = 0x92,
	DEREF_SIZE = 0x94,
	NOP = 0x96,
};

#define LIT(n)	    (LIT0 + (n))
#define MINUS_ONE   CONST1S, 0xff

#define MAPPED_WORD UINT64_C(0x7000) /* the only addresses that can be read: it and the next */
#define ITS_VALUE   UINT64_C(0x1122334455667788)
#define NEXT_VALUE  UINT64_C(0x99aabbccddeeff00)

static bool read_fake(void *context, uint64_t address, uint64_t *value)
{
	unsigned *reads = context;

	(*reads)++;
	*value = address == MAPPED_WORD ? ITS_VALUE : NEXT_VALUE;
	return address == MAPPED_WORD || address == MAPPED_WORD + 8;
}

static unsigned reads; /* in the last evaluation */

/* Register n holds 0x1000 * n. */
static bool evaluate(const uint8_t *code, size_t bytes, const uint64_t *cfa, uint64_t *result)
{
	struct cfi_rule rule = {.kind = CFI_VAL_EXPRESSION,
				.length = (uint32_t)bytes,
				.value = (int64_t)(uintptr_t)code};
	uint64_t regs[ARCH_REGS];

	for (unsigned i = 0; i < ARCH_REGS; i++)
		regs[i] = UINT64_C(0x1000) * i;
	reads = 0;
	const struct cfi_memory memory = {.read = read_fake, .context = &reads};

	return cfi_evaluate(&rule, regs, cfa, &memory, result);
}

static void check_value(uint64_t expected, const uint8_t *code, size_t bytes)
{
	uint64_t result = ~expected;

	assert_true(evaluate(code, bytes, NULL, &result));
	assert_int_equal(result, expected);
}

static void check_refused(const uint8_t *code, size_t bytes)
{
	uint64_t result;

	assert_false(evaluate(code, bytes, NULL, &result));
}

#define GIVES(expected, ...)                                        \
	check_value((uint64_t)(expected), (uint8_t[]){__VA_ARGS__}, \
		    sizeof((uint8_t[]){__VA_ARGS__}))
#define REFUSED(...) check_refused((uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* ---- operators ------------------------------------------------------------------------------- */

static void constants_of_every_width_and_sign(void **state)
{
	(void)state;
	GIVES(0, LIT(0));
	GIVES(31, LIT(31));
	GIVES(0xfe, CONST1U, 0xfe);
	GIVES(-2, CONST1S, 0xfe);
	GIVES(0xfffe, CONST2U, 0xfe, 0xff);
	GIVES(-2, CONST2S, 0xfe, 0xff);
	GIVES(0xfffffffe, CONST4U, 0xfe, 0xff, 0xff, 0xff);
	GIVES(-2, CONST4S, 0xfe, 0xff, 0xff, 0xff);
	GIVES(0x8877665544332211, CONST8U, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88);
	GIVES(0x8877665544332211, CONST8S, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88);
	GIVES(0x8877665544332211, ADDR, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88);
	GIVES(624485, CONSTU, 0xe5, 0x8e, 0x26);
	GIVES(-127, CONSTS, 0x81, 0x7f);
}

static void registers_with_offsets(void **state)
{
	(void)state;
	GIVES(0, BREG0, 0);
	GIVES(0x7008, BREG0 + 7, 8);
	GIVES(0x6ff8, BREG0 + 7, 0x78);
	GIVES(0x1000 * (ARCH_REGS - 1) + 5, BREGX, ARCH_REGS - 1, 5);
}

static void memory_is_read_through_the_callers_function(void **state)
{
	(void)state;
	GIVES(ITS_VALUE, CONST2U, 0x00, 0x70, DEREF);
	assert_int_equal(reads, 1);
	GIVES(ITS_VALUE + 1, BREG0 + 7, 0, DEREF, PLUS_UCONST, 1);
}

static void parts_of_words_are_read_wherever_they_lie(void **state)
{
	(void)state;
	GIVES(0x88, CONST2U, 0x00, 0x70, DEREF_SIZE, 1);
	GIVES(0x55667788, CONST2U, 0x00, 0x70, DEREF_SIZE, 4);
	GIVES(ITS_VALUE, CONST2U, 0x00, 0x70, DEREF_SIZE, 8);
	GIVES(0x11, CONST2U, 0x07, 0x70, DEREF_SIZE, 1);
	assert_int_equal(reads, 1);
	GIVES(0x112233, CONST2U, 0x05, 0x70, DEREF_SIZE, 3);
	assert_int_equal(reads, 1);
	GIVES(0xff001122, CONST2U, 0x06, 0x70, DEREF_SIZE, 4);
	assert_int_equal(reads, 2);
	GIVES(0xaabbccddeeff0011, CONST2U, 0x07, 0x70, DEREF);
	REFUSED(CONST2U, 0x00, 0x70, DEREF_SIZE, 0);
	REFUSED(CONST2U, 0x00, 0x70, DEREF_SIZE, 9);
	REFUSED(CONST2U, 0x0d, 0x70, DEREF_SIZE, 4); /* ends beyond */
	REFUSED(CONST2U, 0xff, 0x6f, DEREF_SIZE, 2); /* begins before */
}

static void division_is_signed_and_the_remainder_is_not(void **state)
{
	(void)state;
	GIVES(3, LIT(10), LIT(3), DIV);
	GIVES(-3, CONST1S, 0xf6, LIT(3), DIV);
	GIVES(-3, LIT(10), CONST1S, 0xfd, DIV);
	GIVES(-10, LIT(10), MINUS_ONE, DIV);
	GIVES(INT64_MIN, LIT(1), CONST1U, 63, SHL, MINUS_ONE, DIV);
	GIVES(1, LIT(10), LIT(3), MOD);
	GIVES(UINT64_MAX % 10, MINUS_ONE, LIT(10), MOD);
	GIVES(5, LIT(5), MINUS_ONE, MOD);
	REFUSED(LIT(10), LIT(0), DIV);
	REFUSED(LIT(10), LIT(0), MOD);
}

static void the_stack_is_rearranged_as_dwarf_says(void **state)
{
	(void)state;
	GIVES(6, LIT(3), DUP, PLUS);
	GIVES(1, LIT(1), LIT(2), DROP);
	GIVES(1, LIT(1), LIT(2), OVER);
	GIVES(2, LIT(1), LIT(2), LIT(3), PICK, 1);
	GIVES(1, LIT(1), LIT(2), LIT(3), PICK, 2);
	GIVES(1, LIT(1), LIT(2), SWAP);
	GIVES(2, LIT(1), LIT(2), SWAP, DROP);
	/* the top becomes the third, the second the top, the third the second */
	GIVES(2, LIT(1), LIT(2), LIT(3), ROT);
	GIVES(1, LIT(1), LIT(2), LIT(3), ROT, DROP);
	GIVES(3, LIT(1), LIT(2), LIT(3), ROT, DROP, DROP);
}

static void arithmetic_and_logic(void **state)
{
	(void)state;
	GIVES(5, CONST1S, 0xfb, ABS);
	GIVES(5, LIT(5), ABS);
	GIVES(0x8, LIT(12), LIT(10), AND);
	GIVES(0xe, LIT(12), LIT(10), OR);
	GIVES(0x6, LIT(12), LIT(10), XOR);
	GIVES(7, LIT(10), LIT(3), MINUS);
	GIVES(-7, LIT(3), LIT(10), MINUS);
	GIVES(30, LIT(10), LIT(3), MUL);
	GIVES(13, LIT(10), LIT(3), PLUS);
	GIVES(-10, LIT(10), NEG);
	GIVES(-11, LIT(10), NOT);
	GIVES(138, LIT(10), PLUS_UCONST, 0x80, 0x01);
	GIVES(0, MINUS_ONE, LIT(1), PLUS);
	GIVES(INT64_MIN, LIT(1), CONST1U, 63, SHL, ABS);
}

static void shifts_by_the_whole_width_and_more_are_defined(void **state)
{
	(void)state;
	GIVES(40, LIT(10), LIT(2), SHL);
	GIVES(0, LIT(10), CONST1U, 64, SHL);
	GIVES(2, LIT(10), LIT(2), SHR);
	GIVES(UINT64_MAX >> 1, MINUS_ONE, LIT(1), SHR);
	GIVES(0, MINUS_ONE, CONST1U, 64, SHR);
	GIVES(-3, CONST1S, 0xf4, LIT(2), SHRA);
	GIVES(-1, CONST1S, 0xf4, CONST1U, 200, SHRA);
	GIVES(0, LIT(10), CONST1U, 200, SHRA);
}

static void comparisons_are_signed(void **state)
{
	static const struct {
		uint8_t op;
		uint8_t less, equal, greater; /* for -1 ? 1, 1 ? 1, 1 ? -1 */
	} table[] = {{EQ, 0, 1, 0}, {GE, 0, 1, 1}, {GT, 0, 0, 1},
		     {LE, 1, 1, 0}, {LT, 1, 0, 0}, {NE, 1, 0, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		GIVES(table[i].less, MINUS_ONE, LIT(1), table[i].op);
		GIVES(table[i].equal, LIT(1), LIT(1), table[i].op);
		GIVES(table[i].greater, LIT(1), MINUS_ONE, table[i].op);
	}
}

static void branches_are_taken_when_the_top_is_not_zero(void **state)
{
	(void)state;
	GIVES(1, LIT(1), LIT(7), BRA, 1, 0, LIT(2));
	GIVES(2, LIT(1), LIT(0), BRA, 1, 0, LIT(2));
	GIVES(1, LIT(1), SKIP, 1, 0, LIT(2));
	GIVES(4, LIT(4), SKIP, 0, 0);
	/* counts down from 3, adding 5 each time: a loop backwards */
	GIVES(15, LIT(0), LIT(3), SWAP, LIT(5), PLUS, SWAP, LIT(1), MINUS, DUP, BRA, 0xf6, 0xff,
	      DROP);
}

static void nothing_is_done_by_nop(void **state)
{
	(void)state;
	GIVES(9, NOP, LIT(9), NOP);
}

static void the_cfa_is_on_the_stack_when_a_register_rule_begins(void **state)
{
	static const uint8_t code[] = {CONST1U, 16, MINUS};
	uint64_t cfa = 0x9000, result = 0;

	(void)state;
	assert_true(evaluate(code, sizeof(code), &cfa, &result));
	assert_int_equal(result, 0x8ff0);
	assert_true(evaluate(code, 0, &cfa, &result));
	assert_int_equal(result, 0x9000);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void operands_that_are_not_there_are_refused(void **state)
{
	static const uint8_t unary[] = {DEREF, DUP, DROP, ABS, NEG, NOT};
	static const uint8_t binary[] = {OVER, SWAP, AND, DIV, MINUS, MOD, MUL, OR, PLUS, SHL,
					 SHR,  SHRA, XOR, EQ,  GE,    GT,  LE,	LT, NE};

	(void)state;
	check_refused(unary, 0); /* no result */
	for (size_t i = 0; i < sizeof(unary); i++)
		REFUSED(unary[i]);
	for (size_t i = 0; i < sizeof(binary); i++) {
		REFUSED(binary[i]);
		REFUSED(LIT(1), binary[i]);
	}
	REFUSED(LIT(1), LIT(2), ROT);
	REFUSED(LIT(1), PICK, 1);
	REFUSED(PLUS_UCONST, 1);
	REFUSED(DEREF_SIZE, 8);
	REFUSED(BRA, 0, 0);
	REFUSED(LIT(1), DROP);
}

/* Pushes `count` numbers and adds none of them up. */
static bool push_many(unsigned count)
{
	uint8_t code[64];
	uint64_t result;

	memset(code, LIT(1), sizeof(code));
	return evaluate(code, count, NULL, &result);
}

static void more_values_than_the_stack_holds_are_refused(void **state)
{
	unsigned room = 0;
	uint8_t code[64];
	uint64_t result;

	(void)state;
	while (room < sizeof(code) && push_many(room + 1))
		room++;
	assert_in_range(room, 8, sizeof(code) - 1);
	memset(code, LIT(1), sizeof(code));
	code[room] = DUP;
	assert_false(evaluate(code, room + 1, NULL, &result));
	code[room] = OVER;
	assert_false(evaluate(code, room + 1, NULL, &result));
}

static void a_loop_that_does_not_end_is_refused(void **state)
{
	(void)state;
	REFUSED(LIT(1), SKIP, 0xfd, 0xff);
	REFUSED(LIT(1), DUP, BRA, 0xfc, 0xff);
	/* nor is one that would end after 65535 rounds */
	REFUSED(CONST2U, 0xff, 0xff, LIT(1), MINUS, DUP, BRA, 0xfa, 0xff);
}

static void jumps_out_of_the_expression_are_refused(void **state)
{
	(void)state;
	REFUSED(LIT(1), SKIP, 1, 0);
	REFUSED(LIT(1), SKIP, 0xff, 0x7f);
	REFUSED(LIT(1), SKIP, 0xfb, 0xff);
	REFUSED(LIT(1), SKIP, 0x00, 0x80);
	REFUSED(LIT(1), LIT(1), BRA, 1, 0);
}

static void a_jump_that_is_not_taken_may_point_anywhere(void **state)
{
	(void)state;
	GIVES(1, LIT(1), LIT(0), BRA, 0xff, 0x7f);
}

static void memory_that_may_not_be_read_is_refused(void **state)
{
	(void)state;
	REFUSED(CONST2U, 0x10, 0x70, DEREF);
	REFUSED(CONST2U, 0x0c, 0x70, DEREF);
	REFUSED(LIT(0), DEREF, LIT(1));
	assert_int_equal(reads, 1);
}

static void registers_we_do_not_follow_are_refused(void **state)
{
	(void)state;
	REFUSED(BREGX, ARCH_REGS, 0);
	REFUSED(BREGX, 0xff, 0xff, 0xff, 0xff, 0x7f, 0);
}

static void operators_that_do_not_belong_in_unwind_rules_are_refused(void **state)
{
	/* reserved, xderef, reg0, fbreg, piece, call2, form_tls_address, call_frame_cfa, vendor */
	static const uint8_t unknown[] = {0x00, 0x01, 0x18, 0x50, 0x91, 0x93,
					  0x98, 0x9b, 0x9c, 0xe0, 0xff};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++)
		REFUSED(LIT(1), LIT(2), unknown[i]);
}

static void an_operand_that_is_cut_off_is_refused(void **state)
{
	static const struct {
		uint8_t op;
		uint8_t operand_bytes;
	} table[] = {{ADDR, 8},	   {CONST1U, 1}, {CONST1S, 1}, {CONST2U, 2},	 {CONST2S, 2},
		     {CONST4U, 4}, {CONST4S, 4}, {CONST8U, 8}, {CONST8S, 8},	 {CONSTU, 1},
		     {CONSTS, 1},  {PICK, 1},	 {BREG0, 1},   {PLUS_UCONST, 1}, {BREGX, 2},
		     {BRA, 2},	   {SKIP, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint8_t code[12] = {LIT(1), LIT(1), table[i].op};
		uint64_t result;

		for (size_t bytes = 0; bytes < table[i].operand_bytes; bytes++)
			assert_false(evaluate(code, 3 + bytes, NULL, &result));
		assert_true(evaluate(code, 3u + table[i].operand_bytes, NULL, &result));
	}
}

/* The code ends where the readable memory does: a read too many would fault. */
static void random_expressions_are_evaluated_or_refused_but_never_run_wild(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 54321, result, cfa = 0x9000;
	unsigned accepted = 0;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	for (unsigned i = 0; i < 100000; i++) {
		size_t bytes = i % 24 + 1;

		for (size_t at = page - bytes; at < page; at++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			memory[at] = (uint8_t)((random >> 56) % (NOP + 1));
		}
		accepted += evaluate(memory + page - bytes, bytes, &cfa, &result);
	}
	assert_in_range(accepted, 1, 99999);
	(void)munmap(memory, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_of_every_width_and_sign),
		cmocka_unit_test(registers_with_offsets),
		cmocka_unit_test(memory_is_read_through_the_callers_function),
		cmocka_unit_test(parts_of_words_are_read_wherever_they_lie),
		cmocka_unit_test(the_stack_is_rearranged_as_dwarf_says),
		cmocka_unit_test(arithmetic_and_logic),
		cmocka_unit_test(division_is_signed_and_the_remainder_is_not),
		cmocka_unit_test(shifts_by_the_whole_width_and_more_are_defined),
		cmocka_unit_test(comparisons_are_signed),
		cmocka_unit_test(branches_are_taken_when_the_top_is_not_zero),
		cmocka_unit_test(nothing_is_done_by_nop),
		cmocka_unit_test(the_cfa_is_on_the_stack_when_a_register_rule_begins),
		cmocka_unit_test(operands_that_are_not_there_are_refused),
		cmocka_unit_test(more_values_than_the_stack_holds_are_refused),
		cmocka_unit_test(a_loop_that_does_not_end_is_refused),
		cmocka_unit_test(jumps_out_of_the_expression_are_refused),
		cmocka_unit_test(a_jump_that_is_not_taken_may_point_anywhere),
		cmocka_unit_test(memory_that_may_not_be_read_is_refused),
		cmocka_unit_test(registers_we_do_not_follow_are_refused),
		cmocka_unit_test(operators_that_do_not_belong_in_unwind_rules_are_refused),
		cmocka_unit_test(an_operand_that_is_cut_off_is_refused),
		cmocka_unit_test(random_expressions_are_evaluated_or_refused_but_never_run_wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
