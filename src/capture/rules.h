/* rules.h -- how to step out of the frame at a pc, cached.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_RULES_H
#define MIDDEN_CAPTURE_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/cfi.h"
#include "capture/thread.h"

enum rule_kind {
	RULE_WIDE = 0, /* does not fit: in t->wide_rule, until the next one is found */
	RULE_SP,       /* CFA = sp + cfa */
	RULE_FP,       /* CFA = fp + cfa */
	RULE_FP_DEREF, /* CFA = word at fp - cfa, caller's fp = word at fp: a realigned stack */
	RULE_END,      /* the outermost frame */
	RULE_SIGNAL,   /* the kernel's trampoline: registers are in the signal frame */
	RULE_COMPLEX,  /* needs registers other than sp and fp: see walk_full */
	RULE_NONE,     /* no unwind information */
};

/* A rule before it is packed; offsets in bytes, those of the return address and the caller's fp
 * downwards from the CFA, fp 0: unchanged. */
struct rule {
	uint32_t kind;
	uint32_t cfa;
	uint32_t ra;
	uint32_t fp;
};

/* A place and its rule in one word: place:24 hidden:1 kind:3 cfa:13 ra:12 fp:11. The offsets are in
 * words: frames of up to 64 KiB. */
static inline uint32_t rule_kind(uint64_t rule)
{
	return rule >> 25 & 7;
}

static inline uint32_t rule_cfa(uint64_t rule)
{
	return rule >> 25 & 0xfff8;
}

static inline uint32_t rule_ra(uint64_t rule)
{
	return rule >> 38 & 0x7ff8;
}

static inline uint32_t rule_fp(uint64_t rule)
{
	return rule >> 50 & 0x3ff8;
}

static inline struct rule rule_get(uint64_t rule)
{
	return (struct rule){.kind = rule_kind(rule),
			     .cfa = rule_cfa(rule),
			     .ra = rule_ra(rule),
			     .fp = rule_fp(rule)};
}

/* The cache: four entries to a line, shared by all threads, without locks. An entry's first word
 * covers its key and the other word, so that an entry torn by two writers, or cut by a signal, does
 * not match any key: two rules or places differ in a few bits, which the product spreads over the
 * word. */
struct rule_entry {
	_Atomic uint64_t check;
	_Atomic uint64_t rule;
};

#define RULES_WAYS 4
#define RULES_BITS 14 /* 16384 x 16 bytes; pages that no pc maps to are never touched */
extern struct rule_entry rules_cache[1u << RULES_BITS] HIDDEN;

/* Where the entry of an address may be, `way` 0 first: all four are in one cache line. */
static inline struct rule_entry *rules_entry(uint64_t address, uint32_t way)
{
	uint64_t first = address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RULES_BITS);

	return &rules_cache[first ^ way];
}

/* Has the processor fetch what rules_find will look at. */
static inline void rules_prefetch(uint64_t address)
{
	__builtin_prefetch(rules_entry(address, 0));
}

/* What an entry's first word must be. Never equal for two addresses of one generation, nor for two
 * generations of one address: multiplying by an odd number loses nothing. */
static inline uint64_t rules_check(uint64_t address, uint32_t generation, uint64_t rule)
{
	return address ^ ~(generation * UINT64_C(0x5bd1e9955bd1e995)) ^
	       rule * UINT64_C(0xff51afd7ed558ccd);
}

/* In a place that rules_find gives: code of libmidden.so itself, whose frames are not shown. */
#define RULES_HIDDEN 0x01000000u
#define RULES_PLACE  (RULES_HIDDEN | SEGMENT_NODE_PLACE_MASK)

/* Finds or makes the rule for an address that is not in the cache. */
NOINLINE uint64_t rules_build(struct thread *t, uint64_t address, uint32_t generation,
			      uint32_t *place);

static inline bool rules_is_entry(const struct rule_entry *e, uint64_t address, uint32_t generation,
				  uint64_t *rule)
{
	/* Pairs with the release in remember. */
	uint64_t check = atomic_load_explicit(&e->check, memory_order_acquire);

	*rule = atomic_load_explicit(&e->rule, memory_order_relaxed);
	return check == rules_check(address, generation, *rule);
}

/* The rule for the code at `address` (inside the call instruction, not after it), and the number of
 * that place, 0 if there is none left. */
static inline uint64_t rules_find(struct thread *t, uint64_t address, uint32_t generation,
				  uint32_t *place)
{
	uint64_t rule;
	uint32_t way = 0;

	while (unlikely(!rules_is_entry(rules_entry(address, way), address, generation, &rule)))
		if (++way == RULES_WAYS)
			return rules_build(t, address, generation, place);
	*place = (uint32_t)rule & RULES_PLACE;
	return rule;
}

/* What t->wide_rule says. */
struct rule rules_unpack(uint64_t packed);

/* The full unwind row for `address` in t->cfi.row. False: none, or not understood. */
bool rules_find_row(struct thread *t, uint64_t address, struct cfi_entry *entry);

#endif
