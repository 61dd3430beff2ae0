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
#define SHORTCUT_WAYS	  8
/* Leaf ends per thread: 512, which with the rest take 112 KiB, touched as they are used. */
#define SHORTCUT_COUNT	(SHORTCUT_WAYS << SHORTCUT_SET_BITS)
#define SHORTCUT_WORDS	9
#define SHORTCUT_PLACES 8 /* leaf ends with more frames or words are walked again */

enum shortcut_flag {
	SHORTCUT_USES_FP = 1,  /* a frame is found by fp as it is at the start */
	SHORTCUT_LOSES_FP = 2, /* fp at the end comes from a word that is not compared */
};

struct shortcut {
	_Alignas(64) uint64_t pc;
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

/* How a frame's return address and caller are found, for the few places that walks begin with: the
 * cache of rules that all threads share takes three times as long to ask. */
struct shortcut_step {
	uint64_t address;
	uint32_t cfa; /* bytes from sp; from fp with SHORTCUT_STEP_FP */
	uint32_t ra;
};

#define SHORTCUT_STEP_FP     1u
#define SHORTCUT_STEP_NONE   2u /* not by a constant from either */
#define SHORTCUT_STEP_BITS   9
#define SHORTCUT_RECENT_BITS 11

struct shortcut_table {
	_Alignas(64) uint64_t tags[SHORTCUT_COUNT]; /* of `at`; a set is a cache line */
	uint32_t turn;				    /* which way is replaced next */
	struct shortcut *missed; /* found by the last look, but it led to no frame of the memo */
	/* By start and first caller: which was the last. In a loop that stays at one height of the
	 * stack this saves the rest of the way to a tag, which is one load after another. */
	uint16_t recent[1 << SHORTCUT_RECENT_BITS];
	struct shortcut_step steps[1 << SHORTCUT_STEP_BITS];
	struct shortcut at[SHORTCUT_COUNT];
};

/* The node of the stack that starts here, if it has a leaf end that is known, unchanged, and leads
 * to an unchanged part of the thread's memo, which is of the present generation; 0 otherwise. */
uint32_t shortcut_find(struct thread *t, const struct walk_start *start);

/* Forgets how frames are left: when the generation changes. Leaf ends know theirs. A table full of
 * zeros, or of a thread that has ended, is a good one to begin with. */
void shortcut_forget_steps(struct shortcut_table *table);

/* Forgets all leaf ends: one of them may have been cut off while it was being made. */
void shortcut_forget_ends(struct shortcut_table *table);

/* Notes the leaf end that the last walk found: the frames of the memo from `kept` on. */
void shortcut_note(struct shortcut_table *table, const struct memo *m, uint32_t kept);

_Static_assert(sizeof(struct shortcut) == 192, "three cache lines");

#endif
