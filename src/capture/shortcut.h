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

#define SHORTCUT_SET_BITS 8
#define SHORTCUT_WAYS	  8
#define SHORTCUT_SLOTS	  (SHORTCUT_WAYS << SHORTCUT_SET_BITS)
/* Leaf ends per thread: at first as many, which with the rest take 128 KiB, touched as they are
 * used. Interpreters and compilers have thousands: a thread that has filled its share may keep as
 * many again, and so on, as long as the process has not given out all that it has for that. */
#define SHORTCUT_SHARE	512u
#define SHORTCUT_MOST	SHORTCUT_SLOTS
#define SHORTCUT_SHARES 16u /* besides the first of each thread: 1.5 MiB in all */
#define SHORTCUT_WORDS	8
#define SHORTCUT_PLACES 8 /* leaf ends with more frames or words are walked again */

enum shortcut_flag {
	SHORTCUT_USES_FP = 1,  /* a frame is found by fp as it is at the start */
	SHORTCUT_LOSES_FP = 2, /* fp at the end comes from a word that is not compared */
	/* With the memo of `serial`, */
	SHORTCUT_KEEPS_FP = 4, /* all hangs on fp as it is at the start */
	SHORTCUT_EXTRA = 8,    /* there is more to compare than return addresses */
};

/* What walk_quick.h needs comes first: where and how it was found last. */
struct shortcut {
	_Alignas(64) uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t serial; /* of the memo when it was found to lead to `outer` there; 0: was not */
	uint32_t outer;	 /* index in the memo of the frame that it leads to */
	uint32_t node;	 /* of the whole stack, where that frame has `outer_node` */
	/* The words that must be as they were, in words from sp. Where their number is odd or 0,
	 * one more is a copy of the first, or of the leaf's return address. */
	uint16_t offsets[SHORTCUT_WORDS];
	uint16_t saved;	    /* bit i: words[i] is a saved frame pointer */
	uint8_t word_count; /* 0: no leaf end, good for walk_quick alone */
	uint8_t flags;
	uint8_t place_count;
	uint16_t slot;			 /* that it is filed in */
	uint64_t values[SHORTCUT_WORDS]; /* as they are in memory with the stack at sp */
	uint64_t outer_pc;
	uint32_t reach; /* from sp to the outer frame's */
	uint32_t generation;
	uint32_t outer_node;
	uint32_t hash;	 /* of the places as a run, and STACKTREE_BASE to the power of their */
	uint32_t scale;	 /* number: see stacktree_hash */
	uint32_t lately; /* serial of the memo that it was followed with last, lower half */
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
#define SHORTCUT_RECENT_BITS 12

struct shortcut_table {
	/* Where leaf ends are filed: a set is a cache line. 0: nothing is in that slot. */
	_Alignas(64) uint64_t tags[SHORTCUT_SLOTS];
	uint16_t filed[SHORTCUT_SLOTS]; /* the index of the leaf end in each */
	uint32_t used;			/* of `at`: from 1 on, in the order in which they came */
	uint32_t shares;		/* that this table has besides the first */
	uint32_t turn;			/* which one is replaced next */
	struct shortcut *missed; /* found by the last look, but it led to no frame of the memo */
	/* By start and first caller: which was the last. In a loop that stays at one height of the
	 * stack this saves the rest of the way to a tag, which is one load after another. */
	uint16_t recent[1 << SHORTCUT_RECENT_BITS];
	struct shortcut_step steps[1 << SHORTCUT_STEP_BITS];
	struct shortcut at[SHORTCUT_MOST + 1]; /* the first is the whole memo */
};

/* Which step is kept where; and which leaf end is to be looked at first. */
static inline uint32_t shortcut_step_index(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SHORTCUT_STEP_BITS));
}

static inline uint32_t shortcut_recent_index(const struct walk_start *start, uint64_t first)
{
	uint64_t h = (start->pc ^ start->sp << 7 ^ first << 21) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> (64 - SHORTCUT_RECENT_BITS));
}

/* The node of the stack that starts here, if it has a leaf end that is known, unchanged, and leads
 * to an unchanged part of the thread's memo, which is of the present generation; 0 otherwise. */
uint32_t shortcut_find(struct thread *t, const struct walk_start *start);

/* Forgets how frames are left: when the generation changes. Leaf ends know theirs. A table full of
 * zeros, or of a thread that has ended, is a good one to begin with. */
void shortcut_forget_steps(struct shortcut_table *table);

/* Forgets all leaf ends: one of them may have been cut off while it was being made. */
void shortcut_forget_ends(struct shortcut_table *table);

/* Notes the leaf end that the thread's last walk found: the frames of its memo from `kept` on. */
void shortcut_note(struct thread *t, uint32_t kept);

_Static_assert(sizeof(struct shortcut) == 192, "three cache lines");

#endif
