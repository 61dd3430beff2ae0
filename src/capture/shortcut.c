/* shortcut.c -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/shortcut.h"

#include "capture/host.h"
#include "capture/walk.h"

static inline uint64_t word(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT: a slot of the walked stack */
}

static inline bool leads_to(const struct shortcut *s, const struct memo *m)
{
	const struct memo_frame *f = &m->frames[s->outer];

	return s->outer < m->count && f->pc == s->outer_pc && f->sp == s->outer_sp &&
	       f->node == s->outer_node && !(f->flags & (MEMO_EXACT | MEMO_NEEDS_FP));
}

uint32_t shortcut_find(const struct shortcut *s, const struct memo *m,
		       const struct walk_start *start)
{
	if (s->pc != start->pc || s->sp != start->sp || s->node == 0 ||
	    s->generation != m->generation || (s->needs_fp && s->fp != start->fp) ||
	    !leads_to(s, m))
		return 0;
	uint64_t changed = 0;
	for (uint32_t i = 0; i < s->word_count; i++)
		changed |= word(s->words[i].at) ^ s->words[i].value;
	return changed || memo_verify(m, s->outer) >= 0 ? 0 : s->node;
}

/* Whether a frame's step depends on its return address alone, besides its start. */
static bool is_plain(const struct memo_frame *f)
{
	return f->ra_at && !f->sp_at && !(f->flags & MEMO_EXACT);
}

void shortcut_note(struct shortcut *table, const struct memo *m, uint32_t kept)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	struct shortcut *s = shortcut_at(table, leaf->pc, leaf->sp, leaf->ra_value);
	uint32_t count = m->count - kept;

	s->node = 0;
	if (kept == 0 || count == 0 || count > SHORTCUT_WORDS)
		return;
	const struct memo_frame *outer = &m->frames[kept - 1];
	/* The outer part must not depend on fp: whatever the leaf end does to it is then of no
	 * account. */
	if (outer->flags & (MEMO_EXACT | MEMO_NEEDS_FP))
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct memo_frame *f = &m->frames[kept + i];

		/* Within the leaf end fp may only come from the start: a saved one that is used
		 * again is rare. */
		if (!is_plain(f) ||
		    (i && f->fp_at && m->frames[kept + i - 1].flags & MEMO_NEEDS_FP))
			return;
		s->words[i] = (struct memo_word){.at = f->ra_at, .value = f->ra_value};
	}
	s->pc = leaf->pc;
	s->sp = leaf->sp;
	s->fp = leaf->fp;
	s->needs_fp = leaf->flags & MEMO_NEEDS_FP;
	s->outer = kept - 1;
	s->outer_pc = outer->pc;
	s->outer_sp = outer->sp;
	s->outer_node = outer->node;
	s->generation = m->generation;
	s->word_count = count;
	s->node = leaf->node;
}
