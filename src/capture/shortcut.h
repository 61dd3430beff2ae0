/* shortcut.h -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A loop that allocates in many places below one function has a few frames that differ from call
 * to call, and the same frames beyond. A shortcut holds such a leaf end: where it starts, the
 * words that lead from it to a frame of the memo, and the node of the whole. It is as exact as
 * the memo, by the same argument: same start, same words, same remainder. */
#ifndef MIDDEN_CAPTURE_SHORTCUT_H
#define MIDDEN_CAPTURE_SHORTCUT_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/memo.h"

struct walk_start;

#define SHORTCUT_BITS  8 /* 256 leaf ends per thread: 34 KiB, touched as they are used */
#define SHORTCUT_COUNT (1u << SHORTCUT_BITS)
#define SHORTCUT_WORDS 4 /* leaf ends with more frames are walked again */

struct shortcut {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t outer_pc; /* the memo frame that the leaf end leads to */
	uint64_t outer_sp;
	uint32_t outer_node;
	uint32_t outer; /* its index in the memo */
	uint32_t node;	/* of the whole stack; 0: no shortcut */
	uint32_t generation;
	uint32_t word_count;
	uint32_t needs_fp; /* MEMO_NEEDS_FP or 0 */
	struct memo_word words[SHORTCUT_WORDS];
};

/* Keyed by the two innermost frames: one function called from many places is many leaf ends. */
static inline struct shortcut *shortcut_at(struct shortcut *table, uint64_t pc, uint64_t sp,
					   uint64_t return_address)
{
	uint64_t key = pc ^ sp << 7 ^ return_address << 21;

	return &table[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SHORTCUT_BITS)];
}

/* The node if the leaf end is known, unchanged, and leads to an unchanged part of the memo; 0
 * otherwise. */
uint32_t shortcut_find(const struct shortcut *s, const struct memo *m,
		       const struct walk_start *start);

/* Notes the leaf end that the last walk found: the frames of the memo from `kept` on. */
void shortcut_note(struct shortcut *table, const struct memo *m, uint32_t kept);

#endif
