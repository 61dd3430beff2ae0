/* shortcut.h -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Most walks differ from the last one in a few frames at the leaf end, and those few frames have
 * been seen before: below other callers, or at another height of the stack. A shortcut holds such
 * a leaf end: where it starts, the words that lead from it to a frame of the memo, and the places
 * it passes. Addresses are relative to the stack pointer at its start, and so are saved frame
 * pointers, because every step in it is by constants from the unwind tables. It is as exact as the
 * memo, by the same argument: same start, same words, same remainder (docs/hotpath.md). */
#ifndef MIDDEN_CAPTURE_SHORTCUT_H
#define MIDDEN_CAPTURE_SHORTCUT_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/memo.h"
#include "capture/walk_start.h"

struct thread;

#define SHORTCUT_SET_BITS 6
#define SHORTCUT_WAYS	  8 /* 512 leaf ends per thread: 98 KiB, touched as they are used */
#define SHORTCUT_WORDS	  10
#define SHORTCUT_PLACES	  8 /* leaf ends with more frames or words are walked again */

enum shortcut_flag {
	SHORTCUT_USES_FP = 1,  /* a frame is found by fp as it is at the start */
	SHORTCUT_LOSES_FP = 2, /* fp at the end comes from a word that is not compared */
};

struct shortcut {
	uint64_t pc;
	uint64_t fp;	   /* less sp; where it is used */
	uint64_t outer_pc; /* the memo frame that the leaf end leads to */
	uint32_t reach;	   /* from sp to the outer frame's */
	uint32_t generation;
	uint32_t outer;	     /* index in the memo where the outer frame was met last */
	uint32_t outer_node; /* then it had this node */
	uint32_t node;	     /* and the whole stack this one */
	uint32_t hash;	     /* of the places as a run, and STACKTREE_BASE to the power of their */
	uint32_t scale;	     /* number: see stacktree_hash */
	uint16_t saved;	     /* bit i: words[i] is a saved frame pointer */
	uint8_t flags;
	uint8_t place_count;
	uint32_t word_count; /* 0: no shortcut */
	/* What must be as it was: a return address without its signature, or a saved frame pointer
	 * less sp; and where, in words from sp. */
	uint64_t values[SHORTCUT_WORDS];
	uint16_t offsets[SHORTCUT_WORDS];
	uint32_t places[SHORTCUT_PLACES]; /* that are shown, leaf first */
};

struct shortcut_table {
	_Alignas(64) uint64_t tags[1 << SHORTCUT_SET_BITS][SHORTCUT_WAYS]; /* a set is a line */
	uint32_t turn;		 /* which way is replaced next */
	struct shortcut *missed; /* found by the last look, but it led to no frame of the memo */
	struct shortcut at[1 << SHORTCUT_SET_BITS][SHORTCUT_WAYS];
};

/* Keyed by the three innermost frames: one function called from many places is many leaf ends.
 * `second` is 0 where it takes more than sp to find it. */
static inline uint64_t shortcut_tag(uint64_t pc, uint64_t first, uint64_t second)
{
	return (pc ^ first << 21 ^ second << 7) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static inline uint32_t shortcut_set(uint64_t tag)
{
	return (uint32_t)(tag >> (64 - SHORTCUT_SET_BITS));
}

/* Where in its set a leaf end is put, and looked for first. */
static inline uint32_t shortcut_way(uint64_t tag)
{
	return (uint32_t)(tag >> 32) % SHORTCUT_WAYS;
}

/* The node of the stack that starts here, if it has a leaf end that is unchanged and leads to an
 * unchanged part of the thread's memo; 0 otherwise. start->sp is in the thread's stack, and
 * aligned. */
uint32_t shortcut_find(struct thread *t, uint64_t tag, const struct walk_start *start);

/* Forgets all. */
void shortcut_init(struct shortcut_table *table);

/* Notes the leaf end that the last walk found: the frames of the memo from `kept` on. */
void shortcut_note(struct shortcut_table *table, const struct memo *m, uint32_t kept);

#endif
