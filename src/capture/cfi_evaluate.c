/* cfi_evaluate.c -- the DWARF expressions that unwind rules hold (PLT stubs, realigned stacks,
 * signal frames). Runs: anywhere in the target, inside malloc; called by walk.c for the rare frames
 * that need it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/cfi.h"

/* DW_OP_* (DWARF 5, 7.7.1): those that may occur in call frame information. */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

#define STACK_DEPTH 16
#define STEP_LIMIT  256 /* a loop in an expression is an error */

struct machine {
	struct cfi_cursor c;
	const uint8_t *start;
	const uint64_t *regs;
	const struct cfi_memory *memory;
	uint64_t stack[STACK_DEPTH];
	unsigned depth;
	bool bad;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == STACK_DEPTH) {
		m->bad = true;
		return;
	}
	m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth == 0) {
		m->bad = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static void push_copy(struct machine *m, uint64_t below_top)
{
	if (below_top >= m->depth) {
		m->bad = true;
		return;
	}
	push(m, m->stack[m->depth - 1 - below_top]);
}

static void push_register(struct machine *m, uint64_t reg)
{
	int64_t offset = cfi_take_sleb(&m->c);

	if (reg >= ARCH_REGS) {
		m->bad = true;
		return;
	}
	push(m, m->regs[reg] + (uint64_t)offset);
}

static void jump(struct machine *m, bool taken)
{
	int16_t distance = (int16_t)cfi_take_fixed(&m->c, 2);

	if (!taken)
		return;
	if (distance < m->start - m->c.at || distance > m->c.end - m->c.at) {
		m->bad = true;
		return;
	}
	m->c.at += distance;
}

/* The lowest `bytes` of what lies at the address on top, wherever that is: memory is read in whole,
 * aligned words. */
static void dereference(struct machine *m, uint64_t bytes)
{
	uint64_t address = pop(m);
	uint64_t shift = address % 8 * 8;
	uint64_t value = 0, above = 0;

	if (bytes == 0 || bytes > 8 ||
	    !m->memory->read(m->memory->context, address - address % 8, &value) ||
	    (address % 8 + bytes > 8 &&
	     !m->memory->read(m->memory->context, address - address % 8 + 8, &above))) {
		m->bad = true;
		return;
	}
	value = value >> shift | above << 1 << (63 - shift); /* all of it is gone if shift is 0 */
	push(m, bytes < 8 ? value & ((UINT64_C(1) << bytes * 8) - 1) : value);
}

static void rotate(struct machine *m)
{
	uint64_t first = pop(m), second = pop(m), third = pop(m);

	push(m, first);
	push(m, third);
	push(m, second);
}

static void run_stack(struct machine *m, uint8_t op)
{
	uint64_t top, below;

	switch (op) {
	case OP_DUP:
		push_copy(m, 0);
		break;
	case OP_DROP:
		(void)pop(m);
		break;
	case OP_OVER:
		push_copy(m, 1);
		break;
	case OP_PICK:
		push_copy(m, cfi_take_fixed(&m->c, 1));
		break;
	case OP_SWAP:
		top = pop(m);
		below = pop(m);
		push(m, top);
		push(m, below);
		break;
	default:
		rotate(m);
	}
}

static uint64_t binary(uint8_t op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case OP_AND:
		return a & b;
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return (uint64_t)(x >> (b < 64 ? b : 63));
	case OP_XOR:
		return a ^ b;
	case OP_EQ:
		return x == y;
	case OP_GE:
		return x >= y;
	case OP_GT:
		return x > y;
	case OP_LE:
		return x <= y;
	case OP_LT:
		return x < y;
	default: /* OP_NE */
		return x != y;
	}
}

/* Division is signed, the remainder is not. */
static void divide(struct machine *m, uint8_t op)
{
	uint64_t divisor = pop(m), value = pop(m);

	if (divisor == 0)
		m->bad = true;
	else if (op == OP_MOD)
		push(m, value % divisor);
	else if (divisor == UINT64_MAX) /* the one quotient that may not fit is that by -1 */
		push(m, 0 - value);
	else
		push(m, (uint64_t)((int64_t)value / (int64_t)divisor));
}

static void run_constant(struct machine *m, uint8_t op)
{
	static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8};

	if (op == OP_CONSTU) {
		push(m, cfi_take_uleb(&m->c));
	} else if (op == OP_CONSTS) {
		push(m, (uint64_t)cfi_take_sleb(&m->c));
	} else {
		unsigned width = bytes[op - OP_CONST1U];
		uint64_t value = cfi_take_fixed(&m->c, width);
		unsigned unused = 64 - 8 * width;

		if ((op & 1) && width < 8) /* the odd ones are signed */
			value = (uint64_t)((int64_t)(value << unused) >> unused);
		push(m, value);
	}
}

static void run_unary(struct machine *m, uint8_t op)
{
	uint64_t value = pop(m);

	switch (op) {
	case OP_ABS:
		push(m, (int64_t)value < 0 ? 0 - value : value);
		break;
	case OP_NEG:
		push(m, 0 - value);
		break;
	case OP_NOT:
		push(m, ~value);
		break;
	default: /* OP_PLUS_UCONST */
		push(m, value + cfi_take_uleb(&m->c));
	}
}

static void run_one(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_ADDR:
		push(m, cfi_take_fixed(&m->c, 8));
		break;
	case OP_DEREF:
		dereference(m, 8);
		break;
	case OP_DEREF_SIZE:
		dereference(m, cfi_take_byte(&m->c));
		break;
	case OP_CONST1U ... OP_CONSTS:
		run_constant(m, op);
		break;
	case OP_DUP ... OP_ROT:
		run_stack(m, op);
		break;
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
		run_unary(m, op);
		break;
	case OP_BRA:
		jump(m, pop(m) != 0);
		break;
	case OP_SKIP:
		jump(m, true);
		break;
	case OP_LIT0 ... OP_LIT31:
		push(m, op - OP_LIT0);
		break;
	case OP_BREG0 ... OP_BREG31:
		push_register(m, (uint64_t)op - OP_BREG0);
		break;
	case OP_BREGX:
		push_register(m, cfi_take_uleb(&m->c));
		break;
	case OP_NOP:
		break;
	case OP_DIV:
	case OP_MOD:
		divide(m, op);
		break;
	case OP_AND:
	case OP_MINUS:
	case OP_MUL:
	case OP_OR:
	case OP_PLUS:
	case OP_SHL ... OP_XOR:
	case OP_EQ ... OP_NE: {
		uint64_t b = pop(m), a = pop(m);

		push(m, binary(op, a, b));
		break;
	}
	default:
		m->bad = true;
	}
}

bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t regs[ARCH_REGS], const uint64_t *cfa,
		  const struct cfi_memory *memory, uint64_t *result)
{
	const uint8_t *start = (const uint8_t *)(uintptr_t)rule->value; /* NOLINT */
	struct machine m = {.c = {.at = start, .end = start + rule->length},
			    .start = start,
			    .regs = regs,
			    .memory = memory};

	if (cfa)
		push(&m, *cfa);
	for (unsigned steps = 0; m.c.at < m.c.end && !m.bad && !m.c.bad; steps++) {
		if (steps == STEP_LIMIT)
			return false;
		run_one(&m, (uint8_t)cfi_take_fixed(&m.c, 1));
	}
	*result = pop(&m);
	return !m.bad && !m.c.bad;
}
