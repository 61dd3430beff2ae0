/* python_known.c -- whole stacks of Python that a thread has met, each in a place of its own.
 * Runs: any thread of the target, inside malloc. Called by python_quick.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_known.h"

void python_known_forget(struct python_known_table *table)
{
	/* Not written to where nothing has been noted: pages of no use take no memory then. */
	for (uint32_t set = 0; set < 1u << PYTHON_KNOWN_SET_BITS; set++)
		for (uint32_t i = 0; i < PYTHON_KNOWN_WAYS; i++)
			if (table->at[set][i].epoch)
				table->at[set][i].epoch = 0;
}

/* Four words of an end. */
struct four {
	const uint16_t *offsets;
	const uint64_t *values;
	uint32_t saved;
};

/* 0: the word is as it was. */
static inline uint64_t get_change(const struct four *w, uint32_t i, uint64_t sp, bool is_saved)
{
	uint64_t now = memo_read(sp + w->offsets[i] * UINT64_C(8));

	return w->values[i] ^ (is_saved ? now - sp : arch_strip(now));
}

/* Mostly none is a saved frame pointer. */
static inline bool are_same(const struct four *w, uint64_t sp)
{
	uint64_t changed = 0;

	if (!(w->saved & 15))
		return !(get_change(w, 0, sp, false) | get_change(w, 1, sp, false) |
			 get_change(w, 2, sp, false) | get_change(w, 3, sp, false));
	for (uint32_t i = 0; i < 4; i++)
		changed |= get_change(w, i, sp, w->saved >> i & 1);
	return !changed;
}

bool python_known_is_odd(const struct python_known *e, uint64_t sp, uint64_t fp, uint64_t owner)
{
	const uint8_t early = python_known_early(e);

	if ((early && python_reads_byte(owner) + 1 != early) ||
	    ((e->flags & PYTHON_KNOWN_USES_FP) && fp - sp != e->fp))
		return false;
	const struct four first = {e->offsets, e->values, e->saved},
			  second = {e->offsets + 4, e->values + 4, e->saved >> 4},
			  third = {e->rest_offsets, e->rest_values, e->rest_saved};
	return are_same(&first, sp) && (!(e->flags & PYTHON_KNOWN_LONG) || are_same(&second, sp)) &&
	       (!(e->flags & PYTHON_KNOWN_LONGEST) || are_same(&third, sp));
}

/* What is met often comes to the front, in time: each move takes as long as looking. */
#define MOVES 8 /* of so many */

const struct python_known *python_known_find_far(struct python_known_table *table,
						 const struct python_known_key *k, uint32_t turn)
{
	struct python_known *e = python_known_set(table, k) + PYTHON_KNOWN_NEAR;
	struct python_known *end = e - PYTHON_KNOWN_NEAR + PYTHON_KNOWN_WAYS;

	while (e < end && !python_known_is(e, k))
		e++;
	if (e == end)
		return NULL;
	if (turn % MOVES)
		return e;
	const struct python_known moved = *e;
	e[0] = e[-1];
	e[-1] = moved;
	return &e[-1];
}

void python_known_note(struct python_known_table *table, const struct python_known_key *k,
		       const struct python_memo_link *f, const struct python_leaf *end,
		       uint32_t node)
{
	struct python_known *e = python_known_set(table, k);

	if (k->distance > UINT32_MAX || end->reach / 8 > UINT16_MAX)
		return;
	for (uint32_t i = PYTHON_KNOWN_WAYS - 1; i > 0; i--)
		e[i] = e[i - 1];
	*e = (struct python_known){.pc = k->pc,
				   .instruction = k->instruction,
				   .fp = end->fp,
				   .distance = (uint32_t)k->distance,
				   .epoch = k->epoch,
				   .outer = k->outer,
				   .python = f->node,
				   .node = node,
				   .reach = (uint16_t)(end->reach / 8),
				   .saved = (uint8_t)end->saved,
				   .flags = (uint8_t)(f->early << PYTHON_KNOWN_EARLY_SHIFT)};
	if (end->word_count > 4)
		e->flags |= PYTHON_KNOWN_LONG;
	if (end->word_count > PYTHON_KNOWN_WORDS)
		e->flags |= PYTHON_KNOWN_LONGEST;
	if (end->is_odd)
		e->flags |= PYTHON_KNOWN_FP;
	if (end->uses_fp)
		e->flags |= PYTHON_KNOWN_USES_FP;
	__builtin_memcpy(e->offsets, end->offsets, sizeof(e->offsets));
	__builtin_memcpy(e->values, end->values, sizeof(e->values));
	__builtin_memcpy(e->rest_offsets, end->offsets + PYTHON_KNOWN_WORDS,
			 sizeof(e->rest_offsets));
	__builtin_memcpy(e->rest_values, end->values + PYTHON_KNOWN_WORDS, sizeof(e->rest_values));
	e->rest_saved = (uint8_t)(end->saved >> PYTHON_KNOWN_WORDS);
}
