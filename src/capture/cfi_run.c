/* cfi_run.c -- executes a call frame program up to a pc.
 * Runs: anywhere in the target, inside malloc; called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/cfi.h"

/* DW_CFA_* (DWARF 5, 6.4.2 and vendor extensions). */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	/* aarch64: from here on the return address is signed, or not; we always strip */
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_NEGATE_RA_STATE = 0x2d,
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET = 0x2f,
	CFA_ADVANCE_LOC = 0x40, /* the top two bits, operand in the lower six */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

struct run {
	struct cfi_cursor c;
	const struct cfi_entry *entry;
	struct cfi_work *work;
	uint64_t location;
	uint64_t target;
	unsigned remembered;
	bool unknown;
};

static void set_rule(struct run *r, uint64_t reg, uint32_t kind, int64_t value)
{
	/* Rules for registers that we do not follow (vector registers) are of no interest. */
	if (reg < ARCH_REGS)
		r->work->row.regs[reg] = (struct cfi_rule){.kind = kind, .value = value};
}

static void restore_rule(struct run *r, uint64_t reg)
{
	if (reg < ARCH_REGS)
		r->work->row.regs[reg] = r->work->initial.regs[reg];
}

static struct cfi_rule take_expression(struct run *r, uint32_t kind)
{
	uint64_t length = cfi_take_uleb(&r->c);
	struct cfi_rule rule = {.kind = kind, .value = (int64_t)(uintptr_t)r->c.at};

	if (r->c.bad || length > (uint64_t)(r->c.end - r->c.at)) {
		r->c.bad = true;
		return rule;
	}
	rule.length = (uint32_t)length;
	r->c.at += length;
	return rule;
}

/* An offset in units of the data alignment. Unsigned: nonsense in a table must not overflow. */
static int64_t take_factored(struct run *r, bool is_signed)
{
	uint64_t units = is_signed ? (uint64_t)cfi_take_sleb(&r->c) : cfi_take_uleb(&r->c);

	return (int64_t)(units * (uint64_t)r->entry->data_align);
}

static void define_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_REGS)
		r->unknown = true;
	r->work->row.cfa_register = (uint32_t)reg;
	r->work->row.cfa = (struct cfi_rule){.kind = CFI_OFFSET, .value = offset};
}

static void remember(struct run *r)
{
	if (r->remembered == CFI_REMEMBER) {
		r->unknown = true;
		return;
	}
	r->work->remembered[r->remembered++] = r->work->row;
}

static void restore(struct run *r)
{
	if (r->remembered == 0) {
		r->unknown = true;
		return;
	}
	r->work->row = r->work->remembered[--r->remembered];
}

static void run_location(struct run *r, uint8_t op)
{
	uint64_t factor = r->entry->code_align;

	switch (op) {
	case CFA_SET_LOC:
		r->location = cfi_take_pointer(&r->c, r->entry->pointer_encoding, 0);
		break;
	case CFA_ADVANCE_LOC1:
		r->location += cfi_take_byte(&r->c) * factor;
		break;
	case CFA_ADVANCE_LOC2:
		r->location += cfi_take_fixed(&r->c, 2) * factor;
		break;
	default:
		r->location += cfi_take_fixed(&r->c, 4) * factor;
	}
}

static void run_cfa(struct run *r, uint8_t op)
{
	struct cfi_row *row = &r->work->row;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cfi_take_uleb(&r->c);
		define_cfa(r, reg, (int64_t)cfi_take_uleb(&r->c));
		break;
	case CFA_DEF_CFA_SF:
		reg = cfi_take_uleb(&r->c);
		define_cfa(r, reg, take_factored(r, true));
		break;
	case CFA_DEF_CFA_REGISTER:
		define_cfa(r, cfi_take_uleb(&r->c), row->cfa.value);
		break;
	case CFA_DEF_CFA_OFFSET:
		define_cfa(r, row->cfa_register, (int64_t)cfi_take_uleb(&r->c));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		define_cfa(r, row->cfa_register, take_factored(r, true));
		break;
	default:
		row->cfa = take_expression(r, CFI_VAL_EXPRESSION);
	}
}

static void run_register(struct run *r, uint8_t op)
{
	uint64_t reg = cfi_take_uleb(&r->c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_rule(r, reg, CFI_OFFSET, take_factored(r, false));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_rule(r, reg, CFI_OFFSET, take_factored(r, true));
		break;
	case CFA_NEGATIVE_OFFSET:
		set_rule(r, reg, CFI_OFFSET, (int64_t) - (uint64_t)take_factored(r, false));
		break;
	case CFA_VAL_OFFSET:
		set_rule(r, reg, CFI_VAL_OFFSET, take_factored(r, false));
		break;
	case CFA_VAL_OFFSET_SF:
		set_rule(r, reg, CFI_VAL_OFFSET, take_factored(r, true));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_rule(r, reg);
		break;
	case CFA_UNDEFINED:
		set_rule(r, reg, CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_rule(r, reg, CFI_SAME, 0);
		break;
	default:
		set_rule(r, reg, CFI_REGISTER, (int64_t)cfi_take_uleb(&r->c));
	}
}

static void run_register_expression(struct run *r, uint32_t kind)
{
	uint64_t reg = cfi_take_uleb(&r->c);
	struct cfi_rule rule = take_expression(r, kind);

	if (reg < ARCH_REGS)
		r->work->row.regs[reg] = rule;
}

static void run_extended(struct run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE_WITH_PC:
	case CFA_NEGATE_RA_STATE:
		break;
	case CFA_SET_LOC ... CFA_ADVANCE_LOC4:
		run_location(r, op);
		break;
	case CFA_REMEMBER_STATE:
		remember(r);
		break;
	case CFA_RESTORE_STATE:
		restore(r);
		break;
	case CFA_DEF_CFA ... CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_OFFSET_SF:
		run_cfa(r, op);
		break;
	case CFA_OFFSET_EXTENDED ... CFA_REGISTER:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_NEGATIVE_OFFSET:
		run_register(r, op);
		break;
	case CFA_EXPRESSION:
		run_register_expression(r, CFI_EXPRESSION);
		break;
	case CFA_VAL_EXPRESSION:
		run_register_expression(r, CFI_VAL_EXPRESSION);
		break;
	case CFA_ARGS_SIZE:
		(void)cfi_take_uleb(&r->c);
		break;
	default:
		r->unknown = true;
	}
}

/* Executes until the location passes the target or the instructions end. */
static bool execute(struct run *r)
{
	while (r->c.at < r->c.end && !r->c.bad && !r->unknown && r->location <= r->target) {
		uint8_t op = cfi_take_byte(&r->c);
		uint64_t low = op & 0x3f;

		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			r->location += low * r->entry->code_align;
			break;
		case CFA_OFFSET:
			set_rule(r, low, CFI_OFFSET, take_factored(r, false));
			break;
		case CFA_RESTORE:
			restore_rule(r, low);
			break;
		default:
			run_extended(r, op);
		}
	}
	return !r->c.bad && !r->unknown;
}

bool cfi_run(const struct cfi_entry *entry, uint64_t pc, struct cfi_work *work)
{
	struct run r = {.entry = entry, .work = work, .location = 0, .target = pc};

	work->row = (struct cfi_row){0};
	r.c = (struct cfi_cursor){.at = entry->initial, .end = entry->initial_end};
	if (!execute(&r))
		return false;
	work->initial = work->row;
	r.location = entry->pc_start;
	r.c = (struct cfi_cursor){
		.at = entry->instructions, .end = entry->instructions_end, .moved = entry->moved};
	return execute(&r);
}
