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
	RULE_SP = 1,   /* CFA = sp + cfa */
	RULE_FP,       /* CFA = fp + cfa */
	RULE_FP_DEREF, /* CFA = word at fp - cfa, caller's fp = word at fp: a realigned stack */
	RULE_END,      /* the outermost frame */
	RULE_SIGNAL,   /* the kernel's trampoline: registers are in the signal frame */
	RULE_COMPLEX,  /* needs registers other than sp and fp: see walk_full */
	RULE_NONE,     /* no unwind information */
};

/* A rule in one word: kind:4 cfa:20 ra:20 fp:20. The offsets are in words; those of the return
 * address and the caller's fp lie below the CFA, fp 0: unchanged. */
static inline uint32_t rule_kind(uint64_t rule)
{
	return rule & 15;
}

static inline uint64_t rule_cfa(uint64_t rule)
{
	return rule >> 1 & 0x7ffff8;
}

static inline uint64_t rule_ra(uint64_t rule)
{
	return rule >> 21 & 0x7ffff8;
}

static inline uint64_t rule_fp(uint64_t rule)
{
	return rule >> 41 & 0x7ffff8;
}

/* The cache: direct-mapped, shared by all threads, without locks. An entry's first word covers its
 * key and the other words, so that an entry torn by two writers, or cut by a signal, does not match
 * any key. Two rules differ in a few bits, two places in a few low ones; the product spreads the
 * latter over the word, so that no difference of places makes up for one of rules. */
struct rule_entry {
	_Atomic uint64_t check;
	_Atomic uint64_t rule;
	_Atomic uint64_t place;
};

#define RULES_BITS 14 /* 16384 x 24 bytes; pages that no pc maps to are never touched */
extern struct rule_entry rules_cache[1u << RULES_BITS] HIDDEN;

static inline struct rule_entry *rules_entry(uint64_t address)
{
	return &rules_cache[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RULES_BITS)];
}

/* What an entry's first word must be. Never equal for two addresses of one generation, nor for two
 * generations of one address: multiplying by an odd number loses nothing. */
static inline uint64_t rules_check(uint64_t address, uint32_t generation, uint64_t rule,
				   uint64_t place)
{
	return address ^ ~(generation * UINT64_C(0x5bd1e9955bd1e995)) ^ rule ^
	       place * UINT64_C(0xff51afd7ed558ccd);
}

/* In a place that rules_find gives: code of libmidden.so itself, whose frames are not shown. */
#define RULES_HIDDEN 0x20000000u

/* Finds or makes the rule for an address that is not in the cache. */
NOINLINE uint64_t rules_build(struct thread *t, uint64_t address, uint32_t generation,
			      uint32_t *place);

/* The rule for the code at `address` (inside the call instruction, not after it), and the number of
 * that place, 0 if there is none left. */
static inline uint64_t rules_find(struct thread *t, uint64_t address, uint32_t generation,
				  uint32_t *place)
{
	struct rule_entry *e = rules_entry(address);
	uint64_t rule = atomic_load_explicit(&e->rule, memory_order_relaxed);
	uint64_t at = atomic_load_explicit(&e->place, memory_order_relaxed);
	uint64_t check = atomic_load_explicit(&e->check, memory_order_acquire);

	if (unlikely(check != rules_check(address, generation, rule, at)))
		return rules_build(t, address, generation, place);
	*place = (uint32_t)at;
	return rule;
}

/* The full unwind row for `address` in t->cfi.row. False: none, or not understood. */
bool rules_find_row(struct thread *t, uint64_t address, struct cfi_entry *entry);

#endif
