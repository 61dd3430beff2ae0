/* rules.c -- how to step out of the frame at a pc, cached.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nearly every frame fits {CFA = sp|fp + k, return address and caller's fp at fixed places below
 * it}: with the number of its place, 64 bits. */
#include "capture/rules.h"

#include <sys/auxv.h>

#include "capture/cfi_copy.h"
#include "capture/host.h"
#include "capture/modules.h"
#include "capture/pcs.h"
#include "capture/peek.h"

#define ENTRY_BYTES 64 /* of the program's entry point: fourteen instructions on aarch64 */

_Alignas(64) struct rule_entry rules_cache[1u << RULES_BITS];

/* As it is kept with its place: kind:4 cfa:20 ra:20 fp:20, in words. */
static uint64_t pack(const struct rule *r)
{
	return (uint64_t)r->kind | (uint64_t)(r->cfa / 8) << 4 | (uint64_t)(r->ra / 8) << 24 |
	       (uint64_t)(r->fp / 8) << 44;
}

struct rule rules_unpack(uint64_t packed)
{
	return (struct rule){.kind = packed & 15,
			     .cfa = packed >> 1 & 0x7ffff8,
			     .ra = packed >> 21 & 0x7ffff8,
			     .fp = packed >> 41 & 0x7ffff8};
}

/* As rules_find gives it. */
static uint64_t pack_with_place(const struct rule *r, uint32_t place)
{
	uint64_t packed = (uint64_t)(r->kind & 7) << 25 | (uint64_t)(r->cfa / 8) << 28 |
			  (uint64_t)(r->ra / 8) << 41 | (uint64_t)(r->fp / 8) << 53 | place;

	return rule_cfa(packed) == r->cfa && rule_ra(packed) == r->ra && rule_fp(packed) == r->fp
		       ? packed
		       : (uint64_t)RULE_WIDE << 25 | place;
}

/* Whether an offset is a whole number of words that fits a packed field. */
static bool fits(int64_t bytes)
{
	return bytes >= 0 && bytes % 8 == 0 && bytes / 8 <= 0xfffff;
}

/* The same of an offset downwards, which may be anything. */
static bool fits_below(int64_t bytes)
{
	return bytes <= 0 && bytes > -INT32_MAX && fits(-bytes);
}

/* GCC realigns a stack through fp: DW_OP_breg(fp) -k, DW_OP_deref gives the CFA, and fp is saved
 * where it points. */
static bool is_realigned(const struct cfi_row *row, struct rule *r)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)row->cfa.value; /* NOLINT */
	const struct cfi_rule *fp = &row->regs[ARCH_REG_FP];
	struct cfi_cursor c = {.at = code + 1, .end = code + row->cfa.length};

	if (row->cfa.length < 3 || code[0] != 0x70 + ARCH_REG_FP)
		return false;
	int64_t offset = cfi_take_sleb(&c);
	if (cfi_take_fixed(&c, 1) != 0x06 || c.bad || c.at != c.end || !fits_below(offset))
		return false;
	code = (const uint8_t *)(uintptr_t)fp->value; /* NOLINT */
	if (fp->kind != CFI_EXPRESSION || fp->length != 2 || code[0] != 0x70 + ARCH_REG_FP ||
	    code[1] != 0)
		return false;
	r->cfa = (uint32_t)-offset;
	return true;
}

static uint32_t cfa_kind(const struct cfi_row *row, struct rule *r)
{
	if (row->cfa.kind == CFI_VAL_EXPRESSION)
		return is_realigned(row, r) ? RULE_FP_DEREF : RULE_COMPLEX;
	if (!fits(row->cfa.value))
		return RULE_COMPLEX;
	r->cfa = (uint32_t)row->cfa.value;
	if (row->cfa_register == ARCH_REG_SP)
		return RULE_SP;
	return row->cfa_register == ARCH_REG_FP ? RULE_FP : RULE_COMPLEX;
}

/* Condenses a row; anything out of the ordinary is RULE_COMPLEX. */
static void condense(const struct cfi_row *row, uint32_t ra_register, struct rule *r)
{
	const struct cfi_rule *ra = &row->regs[ra_register];
	const struct cfi_rule *fp = &row->regs[ARCH_REG_FP];

	if (ra->kind == CFI_UNDEFINED) {
		r->kind = RULE_END;
		return;
	}
	r->kind = cfa_kind(row, r);
	if (ra->kind != CFI_OFFSET || !fits_below(ra->value) || ra->value == 0) {
		r->kind = RULE_COMPLEX;
		return;
	}
	r->ra = (uint32_t)-ra->value;
	if (r->kind == RULE_FP_DEREF)
		return;
	if (fp->kind == CFI_OFFSET && fits_below(fp->value) && fp->value != 0)
		r->fp = (uint32_t)-fp->value;
	else if (fp->kind != CFI_UNSAID && fp->kind != CFI_SAME)
		r->kind = RULE_COMPLEX;
}

/* Frames that are left by the tables are live, and so are their objects; the others may be what an
 * object left that is going away at this moment. */
static bool find_entry(struct thread *t, const struct module_span *span, uint64_t address,
		       struct cfi_entry *entry)
{
	const struct image image = {.map_start = span->map_start,
				    .map_end = span->map_end,
				    .read_start = span->read_start,
				    .read_end = span->read_end};

	if (!span->eh_frame_hdr)
		return false;
	return t->doubtful ? cfi_copy_find(span->eh_frame_hdr, address, &t->cfi_copy, entry)
			   : cfi_find(&image, span->eh_frame_hdr, address, entry);
}

static bool find_row(struct thread *t, const struct module_span *span, uint64_t address,
		     struct cfi_entry *entry)
{
	return find_entry(t, span, address, entry) && cfi_run(entry, address, &t->cfi);
}

bool rules_find_row(struct thread *t, uint64_t address, struct cfi_entry *entry)
{
	struct module_span span;

	return modules_find(address, &span) && find_row(t, &span, address, entry);
}

/* A return address that is the first byte of a function, with nothing before it, was not left by
 * a call: makecontext plants such a one at the root of a coroutine. */
static bool is_planted(struct thread *t, uint64_t address)
{
	struct module_span span;
	struct cfi_entry entry;

	return modules_find(address, &span) && find_entry(t, &span, address, &entry) &&
	       entry.pc_start == address;
}

/* A trampoline without unwind information. The address is in an object, but maybe in a hole of
 * it: so by way of the kernel. */
static bool is_trampoline(uint64_t address)
{
	uint8_t code[ARCH_SIGRETURN_BYTES];

	return peek_strictly(address, code, sizeof(code)) && arch_is_sigreturn(code);
}

/* Whether a function without unwind information is the root of all that it calls: the loader's
 * entry point is the one piece of it that has none, and so has the program's own with glibc before
 * 2.33 on aarch64. */
static bool is_root(struct thread *t, const struct module_span *span, uint64_t address)
{
	return (span->id && span->map_start == getauxval(AT_BASE)) || is_planted(t, address + 1) ||
	       address - getauxval(AT_ENTRY) < ENTRY_BYTES;
}

static struct rule make(struct thread *t, const struct module_span *span, uint64_t address)
{
	struct rule rule = {.kind = RULE_NONE};
	struct cfi_entry entry;

	if (find_row(t, span, address, &entry)) {
		if (entry.signal_frame)
			rule.kind = RULE_SIGNAL;
		else
			condense(&t->cfi.row, entry.ra_register, &rule);
	} else if (span->id && is_trampoline(address + 1)) { /* `address` is one before it */
		rule.kind = RULE_SIGNAL;
	} else if (is_root(t, span, address)) {
		rule.kind = RULE_END;
	}
	return rule;
}

/* The first of the line's entries that is free, or the first of all. */
static struct rule_entry *find_room(uint64_t address)
{
	for (uint32_t way = 0; way < RULES_WAYS; way++) {
		struct rule_entry *e = rules_entry(address, way);

		if (atomic_load_explicit(&e->check, memory_order_relaxed) == 0)
			return e;
	}
	return rules_entry(address, 0);
}

static void remember(uint64_t address, uint32_t generation, uint64_t rule)
{
	struct rule_entry *e = find_room(address);

	atomic_store_explicit(&e->rule, rule, memory_order_relaxed);
	/* Pairs with the acquire in rules_is_entry: whoever uses the number of the place, and
	 * publishes a node with it, has seen the place. */
	atomic_store_explicit(&e->check, rules_check(address, generation, rule),
			      memory_order_release);
}

/* A module with a build-id that comes again at the same address is the same code, so a place that
 * is known keeps its rule: a cache miss costs no run of the unwind program. Without one it may have
 * been built anew; where no module is, something may be loaded later, or code be made anew. */
NOINLINE uint64_t rules_build(struct thread *t, uint64_t address, uint32_t generation,
			      uint32_t *place)
{
	const struct pcs places = pcs_get();
	struct module_span span;

	if (!modules_find(address, &span))
		span = (struct module_span){0};
	uint32_t known = pcs_find(&places, address, span.id);

	if (known && span.id && span.has_build_id) {
		t->wide_rule = places.at[known].rule;
	} else {
		struct rule made = make(t, &span, address);

		if (t->doubtful && !modules_is_loaded(&span, generation)) {
			made = (struct rule){.kind = RULE_NONE}; /* it went away meanwhile */
			span = (struct module_span){0};
			known = 0;
		}
		t->wide_rule = pack(&made);
		const struct segment_place fresh = {
			.address = address, .rule = t->wide_rule, .module = span.id};
		known = known ? known : pcs_add(&places, &fresh);
	}
	*place = span.id == process->own_module ? known | RULES_HIDDEN : known;
	const struct rule rule = rules_unpack(t->wide_rule);
	uint64_t packed = pack_with_place(&rule, *place);
	if (span.id && known && rule_kind(packed) != RULE_WIDE)
		remember(address, generation, packed);
	return packed;
}
