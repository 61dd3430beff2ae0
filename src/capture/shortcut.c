/* shortcut.c -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/shortcut.h"

/* Whether a frame's step depends on its return address alone, besides its start. */
static bool is_plain(const struct memo_frame *f)
{
	return f->ra_at && !f->sp_at && !(f->flags & MEMO_EXACT);
}

/* The place for a leaf end: its own, or the next in turn of its set. */
static struct shortcut *take_place(struct shortcut_table *table, uint64_t tag)
{
	uint32_t set = shortcut_set(tag);
	uint32_t way = 0;

	while (way < SHORTCUT_WAYS && table->tags[set][way] != tag)
		way++;
	if (way == SHORTCUT_WAYS)
		way = table->turn++ % SHORTCUT_WAYS;
	table->tags[set][way] = tag;
	table->at[set][way].node = 0;
	return &table->at[set][way];
}

/* The words that lead from the leaf to frames[kept - 1]. False: more than return addresses, or
 * too many. */
static bool put_words(struct shortcut *s, const struct memo *m, uint32_t kept)
{
	for (uint32_t i = kept; i < m->count; i++) {
		const struct memo_frame *f = &m->frames[i];

		/* Within the leaf end fp may only come from the start: a saved one that is used
		 * again is rare. */
		if (!is_plain(f) || (f->fp_at && m->frames[i - 1].flags & MEMO_NEEDS_FP))
			return false;
		s->words[i - kept] = (struct memo_word){.at = f->ra_at, .value = f->ra_value};
	}
	return true;
}

void shortcut_init(struct shortcut_table *table)
{
	/* The entries need no clearing: only a tag leads to one. */
	__builtin_memset(table->tags, 0, sizeof(table->tags));
}

void shortcut_note(struct shortcut_table *table, const struct memo *m, uint32_t kept)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct memo_frame *outer = &m->frames[kept - 1];
	uint32_t count = m->count - kept;

	/* The outer part must not depend on fp: whatever the leaf end does to it is then of no
	 * account. */
	if (kept == 0 || count == 0 || count > SHORTCUT_WORDS ||
	    (outer->flags & (MEMO_EXACT | MEMO_NEEDS_FP)))
		return;
	struct shortcut *s = take_place(table, shortcut_tag(leaf->pc, leaf->sp, leaf->ra_value));
	if (!put_words(s, m, kept))
		return;
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
