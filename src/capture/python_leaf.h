/* python_leaf.h -- the native ends of recent stacks of Python, from a hook's caller to the loop.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is native below the innermost Python function has mostly been walked before, at another
 * height of the stack or below other functions. As in shortcut.h, an end is where it starts, the
 * words that lead from there to the evaluation loop's frame, and the places it passes, with all
 * addresses relative to the stack pointer at its start. The loop's frame is the one that holds a
 * certain address (walk_goal.h), which must be as far away as it was. */
#ifndef MIDDEN_CAPTURE_PYTHON_LEAF_H
#define MIDDEN_CAPTURE_PYTHON_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/modules.h"
#include "capture/walk_goal.h"

#define PYTHON_LEAF_SET_BITS 6
#define PYTHON_LEAF_WAYS     4
#define PYTHON_LEAF_WORDS    12
#define PYTHON_LEAF_PLACES   12 /* ends with more frames or words are walked again */

struct python_leaf {
	_Alignas(64) uint64_t pc; /* 0: nothing is here */
	uint64_t goal;		  /* less sp; 0: the loop is known by its code */
	uint64_t fp;		  /* less sp; where it is used */
	uint32_t generation;
	uint32_t serial; /* no other end of this thread has it */
	uint32_t reach;	 /* bytes from sp to the end of the furthest word */
	uint16_t saved;	 /* bit i: words[i] is a saved frame pointer */
	uint8_t place_count;
	uint8_t word_count;		     /* by four: the last may be there more than once */
	bool uses_fp;			     /* a frame is found by fp as it is at the start */
	bool is_odd;			     /* it has something to do with fp */
	uint16_t offsets[PYTHON_LEAF_WORDS]; /* where, in words from sp */
	uint64_t values[PYTHON_LEAF_WORDS];  /* what must be as it was: see shortcut.h */
	uint32_t places[PYTHON_LEAF_PLACES]; /* that are shown, leaf first */
};

_Static_assert(sizeof(struct python_leaf) == 256, "four cache lines");

/* An end below a Python function, and the node of the whole. */
struct python_leaf_pair {
	uint32_t outer;
	uint32_t serial; /* 0: nothing is here */
	uint32_t node;
};

#define PYTHON_LEAF_PAIR_BITS 10 /* of twos, the one noted last first */

struct python_leaves {
	uint32_t turn; /* how many have been noted: which way is replaced next */
	struct python_leaf_pair pairs[1 << PYTHON_LEAF_PAIR_BITS][2];
	struct python_leaf at[PYTHON_LEAF_WAYS << PYTHON_LEAF_SET_BITS];
};

void python_leaf_forget(struct python_leaves *table);

/* The first of those among which the end is. */
static inline struct python_leaf *python_leaf_set(struct python_leaves *table, uint64_t pc,
						  uint64_t goal)
{
	uint64_t hash = (pc ^ goal << 17) * UINT64_C(0x9e3779b97f4a7c15);

	return &table->at[(hash >> (64 - PYTHON_LEAF_SET_BITS)) * PYTHON_LEAF_WAYS];
}

/* Whether the words that an end has read are as they were, where fp matters. */
NOINLINE bool python_leaf_is_unchanged_with_fp(const struct python_leaf *s,
					       const struct walk_start *start);

static inline uint64_t python_leaf_change(const struct python_leaf *s, uint32_t i, uint64_t sp)
{
	return arch_strip(memo_read(sp + s->offsets[i] * UINT64_C(8))) ^ s->values[i];
}

static inline bool python_leaf_is_unchanged(const struct python_leaf *s, uint64_t sp)
{
	uint32_t i = 0;

	do {
		if (python_leaf_change(s, i, sp) | python_leaf_change(s, i + 1, sp) |
		    python_leaf_change(s, i + 2, sp) | python_leaf_change(s, i + 3, sp))
			return false;
	} while (unlikely((i += 4) < s->word_count));
	return true;
}

/* Whether an end is that of the stack which starts here, so far from its loop, and can be read up
 * to `high`. */
static inline bool python_leaf_is(const struct python_leaf *s, const struct walk_start *start,
				  uint64_t distance, uint64_t high)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	uint64_t sp = start->sp;

	if (s->pc != start->pc || s->goal != distance || s->generation != generation ||
	    s->reach > high - sp)
		return false;
	return unlikely(s->is_odd) ? python_leaf_is_unchanged_with_fp(s, start)
				   : python_leaf_is_unchanged(s, sp);
}

static inline uint64_t python_leaf_distance(uint64_t goal, uint64_t sp)
{
	return goal ? goal - sp : 0;
}

/* The end of the stack that starts here, can be read up to `high` and has its loop at `goal`; NULL:
 * none is known. */
static inline struct python_leaf *python_leaf_find(struct python_leaves *table,
						   const struct walk_start *start, uint64_t goal,
						   uint64_t high)
{
	uint64_t distance = python_leaf_distance(goal, start->sp);
	struct python_leaf *s = python_leaf_set(table, start->pc, distance);

	for (uint32_t way = 0; way < PYTHON_LEAF_WAYS; way++, s++)
		if (python_leaf_is(s, start, distance, high))
			return s;
	return NULL;
}

/* Where the node can be remembered that an end has below `outer`. */
static inline struct python_leaf_pair *python_leaf_pairs(struct python_leaves *table,
							 const struct python_leaf *s,
							 uint32_t outer)
{
	uint32_t hash = (outer ^ s->serial << 20) * UINT32_C(0x9e3779b1);

	return table->pairs[hash >> (32 - PYTHON_LEAF_PAIR_BITS)];
}

static inline bool python_leaf_is_pair(const struct python_leaf_pair *pair,
				       const struct python_leaf *s, uint32_t outer)
{
	return pair->outer == outer && pair->serial == s->serial;
}

/* That node; 0: it is not remembered. */
static inline uint32_t python_leaf_find_node(struct python_leaves *table,
					     const struct python_leaf *s, uint32_t outer)
{
	const struct python_leaf_pair *pair = python_leaf_pairs(table, s, outer);

	if (likely(python_leaf_is_pair(pair, s, outer)) || python_leaf_is_pair(++pair, s, outer))
		return pair->node;
	return 0;
}

static inline void python_leaf_note_node(struct python_leaves *table, const struct python_leaf *s,
					 uint32_t outer, uint32_t node)
{
	struct python_leaf_pair *pair = python_leaf_pairs(table, s, outer);

	if (!python_leaf_is_pair(pair, s, outer))
		pair[1] = pair[0];
	*pair = (struct python_leaf_pair){.outer = outer, .serial = s->serial, .node = node};
}

/* Notes what a walk to that goal has found, with the frames that it has kept. NULL: it is not one
 * that can be. */
struct python_leaf *python_leaf_note(struct python_leaves *table, const struct walk_start *start,
				     const struct walk_goal *goal);

#endif
