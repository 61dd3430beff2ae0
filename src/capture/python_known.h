/* python_known.h -- whole stacks of Python that a thread has met, each in a place of its own.
 * Runs: any thread of the target, inside malloc. Called by python_quick.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What python_memo.h and python_leaf.h know of the innermost frame and of the native end below it,
 * copied together: one look into one table instead of three, each of which needs what the one
 * before it has found. What is outside of the innermost frame is a node here, and for others to
 * compare. */
#ifndef MIDDEN_CAPTURE_PYTHON_KNOWN_H
#define MIDDEN_CAPTURE_PYTHON_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/python_leaf.h"
#include "capture/python_memo.h"

#define PYTHON_KNOWN_WORDS    8 /* of an end, where they are compared at once */
#define PYTHON_KNOWN_REST     4 /* and more of it: as many as it can have */
#define PYTHON_KNOWN_SET_BITS 9
#define PYTHON_KNOWN_WAYS     4 /* in a set, the one noted last first */
#define PYTHON_KNOWN_NEAR     2 /* so many of them are looked at first */

#define PYTHON_KNOWN	      inline __attribute__((always_inline))

enum python_known_flags {
	PYTHON_KNOWN_LONG = 1, /* eight words, not four */
	PYTHON_KNOWN_FP = 2,   /* it has something to do with fp */
	PYTHON_KNOWN_USES_FP = 4,
	PYTHON_KNOWN_LONGEST = 128, /* twelve: LONG, too */
};
#define PYTHON_KNOWN_EARLY_SHIFT 3 /* between, what python_memo_frame.early is */
#define PYTHON_KNOWN_EARLY_MASK	 15

/* What a stack starts with, below frames that are known. */
struct python_known_key {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t instruction; /* of the innermost frame */
	uint64_t distance;    /* from sp to its loop; 0: not known */
	uint64_t high;	      /* the stack can be read so far */
	uint64_t owner;	      /* where the innermost frame says who has it */
	uint32_t outer;	      /* node of the frames outside of that one */
	uint32_t epoch;	      /* changes when a code object is freed, or a library goes */
};

struct python_known {
	_Alignas(64) uint64_t pc;
	uint64_t instruction;
	uint64_t fp; /* less sp; where it is used */
	uint32_t distance;
	uint32_t epoch; /* 0: nothing is here */
	uint32_t outer;
	uint32_t python; /* node of all frames of Python */
	uint32_t node;	 /* of the whole */
	uint16_t reach;	 /* words from sp to the end of the furthest */
	uint8_t saved;	 /* bit i: values[i] is a saved frame pointer */
	uint8_t flags;
	uint16_t offsets[PYTHON_KNOWN_WORDS]; /* as in struct python_leaf */
	uint64_t values[PYTHON_KNOWN_WORDS];
	uint64_t rest_values[PYTHON_KNOWN_REST];
	uint16_t rest_offsets[PYTHON_KNOWN_REST];
	uint8_t rest_saved;
};

_Static_assert(sizeof(struct python_known) == 192, "three cache lines");
_Static_assert(PYTHON_LEAF_WORDS == PYTHON_KNOWN_WORDS + PYTHON_KNOWN_REST, "all have room");

struct python_known_table {
	struct python_known at[1 << PYTHON_KNOWN_SET_BITS][PYTHON_KNOWN_WAYS];
};

void python_known_forget(struct python_known_table *table);

/* The first of those that it can be. */
static PYTHON_KNOWN struct python_known *python_known_set(struct python_known_table *table,
							  const struct python_known_key *k)
{
	uint64_t hash =
		(k->instruction ^ k->pc << 16 ^ k->distance << 36 ^ (uint64_t)k->outer << 44) *
		UINT64_C(0x9e3779b97f4a7c15);

	return table->at[hash >> (64 - PYTHON_KNOWN_SET_BITS)];
}

static PYTHON_KNOWN uint64_t python_known_change(const struct python_known *e, uint32_t i,
						 uint64_t sp)
{
	return arch_strip(memo_read(sp + e->offsets[i] * UINT64_C(8))) ^ e->values[i];
}

static PYTHON_KNOWN bool python_known_are_same(const struct python_known *e, uint32_t i,
					       uint64_t sp)
{
	return !(python_known_change(e, i, sp) | python_known_change(e, i + 1, sp) |
		 python_known_change(e, i + 2, sp) | python_known_change(e, i + 3, sp));
}

static inline uint8_t python_known_early(const struct python_known *e)
{
	return e->flags >> PYTHON_KNOWN_EARLY_SHIFT & PYTHON_KNOWN_EARLY_MASK;
}

static PYTHON_KNOWN bool python_known_has(const struct python_known *e,
					  const struct python_known_key *k)
{
	return e->instruction == k->instruction && e->pc == k->pc && e->outer == k->outer &&
	       e->distance == k->distance && e->epoch == k->epoch &&
	       e->reach <= (k->high - k->sp) / 8;
}

/* Whether an odd one that python_known_has is the stack: fp or the frame's owner matter, or there
 * are more words than usual. */
NOINLINE bool python_known_is_odd(const struct python_known *e, uint64_t sp, uint64_t fp,
				  uint64_t owner);

/* Whether this is the stack. */
static PYTHON_KNOWN bool python_known_is(const struct python_known *e,
					 const struct python_known_key *k)
{
	if (!likely(python_known_has(e, k)))
		return false;
	if (unlikely(e->flags > PYTHON_KNOWN_LONG))
		return python_known_is_odd(e, k->sp, k->fp, k->owner);
	return python_known_are_same(e, 0, k->sp) &&
	       (!e->flags || python_known_are_same(e, 4, k->sp));
}

/* The stack, if it is known and none of those that are looked at first; NULL: it is not. `turn` is
 * another number each time. */
const struct python_known *python_known_find_far(struct python_known_table *table,
						 const struct python_known_key *k, uint32_t turn);

/* Notes one that has that end. `f` is its innermost frame. */
void python_known_note(struct python_known_table *table, const struct python_known_key *k,
		       const struct python_memo_link *f, const struct python_leaf *end,
		       uint32_t node);

#endif
