/* rules.h -- how to step out of the frame at a pc, cached.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_RULES_H
#define MIDDEN_CAPTURE_RULES_H

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

/* Offsets are in bytes, below the CFA for `ra` and `fp`; fp 0: unchanged. */
struct rule {
	uint32_t kind;
	uint32_t module;
	uint32_t cfa;
	uint32_t ra;
	uint32_t fp;
};

/* The rule for the code at `address` (inside the call instruction, not after it). */
void rules_find(struct thread *t, uint64_t address, struct rule *rule);

/* The full unwind row for `address` in t->cfi.row. False: none, or not understood. */
bool rules_find_row(struct thread *t, uint64_t address, struct cfi_entry *entry, uint32_t *module);

#endif
