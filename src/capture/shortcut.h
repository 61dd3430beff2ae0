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
#include "capture/walk_start.h"

#define SHORTCUT_SETS  64
#define SHORTCUT_WAYS  4 /* 256 leaf ends per thread: 34 KiB, touched as they are used */
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

struct shortcut_table {
	uint64_t tags[SHORTCUT_SETS]
		     [SHORTCUT_WAYS]; /* apart from the rest: a set is half a cache line */
	uint32_t turn;		      /* which way is replaced next */
	struct shortcut at[SHORTCUT_SETS][SHORTCUT_WAYS];
};

/* Keyed by the two innermost frames: one function called from many places is many leaf ends. */
static inline uint64_t shortcut_tag(uint64_t pc, uint64_t sp, uint64_t return_address)
{
	return (pc ^ sp << 7 ^ return_address << 21) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint32_t shortcut_set(uint64_t tag)
{
	return (uint32_t)(tag >> 58);
}

_Static_assert(SHORTCUT_SETS == 1 << (64 - 58), "the top bits of the tag choose the set");

static inline bool shortcut_leads_to(const struct shortcut *s, const struct memo *m)
{
	const struct memo_frame *f = &m->frames[s->outer];

	return s->outer < m->count && f->pc == s->outer_pc && f->sp == s->outer_sp &&
	       f->node == s->outer_node && !(f->flags & (MEMO_EXACT | MEMO_NEEDS_FP));
}

/* The node if the leaf end that starts here is the known one, unchanged, and leads to an
 * unchanged part of the memo; 0 otherwise. */
static inline uint32_t shortcut_check(const struct shortcut *s, const struct memo *m, uint64_t pc,
				      uint64_t sp, uint64_t fp)
{
	uint64_t changed = (s->pc ^ pc) | (s->sp ^ sp) | (s->generation ^ m->generation);

	if (changed || s->node == 0 || (s->needs_fp && s->fp != fp) || !shortcut_leads_to(s, m))
		return 0;
	for (uint32_t i = 0; i < s->word_count; i++)
		changed |= memo_difference(&s->words[i]);
	return changed || memo_verify(m, s->outer) >= 0 ? 0 : s->node;
}

static inline uint32_t shortcut_find(const struct shortcut_table *table, uint64_t tag,
				     const struct memo *m, const struct walk_start *start)
{
	const uint64_t *tags = table->tags[shortcut_set(tag)];

	for (uint32_t way = 0; way < SHORTCUT_WAYS; way++)
		if (tags[way] == tag)
			return shortcut_check(&table->at[shortcut_set(tag)][way], m, start->pc,
					      start->sp, start->fp);
	return 0;
}

/* Forgets all. */
void shortcut_init(struct shortcut_table *table);

/* Notes the leaf end that the last walk found: the frames of the memo from `kept` on. */
void shortcut_note(struct shortcut_table *table, const struct memo *m, uint32_t kept);

#endif
