/* shortcut.c -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/shortcut.h"

#include "capture/rules.h"
#include "capture/stacktree.h"
#include "capture/thread.h"

/* ---- following ------------------------------------------------------------------------------- */

static inline uint64_t read_word(const struct shortcut *s, uint32_t i, uint64_t sp)
{
	return memo_read(sp + s->offsets[i] * UINT64_C(8));
}

/* With saved frame pointers among the words; *fp becomes what it is at the end. */
static NOINLINE bool is_unchanged_with_fp(const struct shortcut *s, uint64_t sp, uint64_t *fp)
{
	uint64_t changed = 0;

	for (uint32_t i = 0; i < s->word_count; i++) {
		uint64_t now = read_word(s, i, sp);

		if (s->saved >> i & 1) {
			changed |= (now - sp) ^ s->values[i];
			*fp = now;
		} else {
			changed |= arch_strip(now) ^ s->values[i];
		}
	}
	return changed == 0;
}

static inline bool is_unchanged(const struct shortcut *s, uint64_t sp, uint64_t *fp)
{
	uint64_t changed = 0;

	if (unlikely(s->saved))
		return is_unchanged_with_fp(s, sp, fp);
	for (uint32_t i = 0; i < s->word_count; i++)
		changed |= arch_strip(read_word(s, i, sp)) ^ s->values[i];
	return changed == 0;
}

static inline bool is_outer(const struct shortcut *s, const struct memo_frame *f, uint64_t sp,
			    uint64_t fp)
{
	if (((f->pc ^ s->outer_pc) | (f->sp ^ sp) | (f->flags & MEMO_EXACT)) != 0)
		return false;
	return !(f->flags & MEMO_NEEDS_FP) || (f->fp == fp && !(s->flags & SHORTCUT_LOSES_FP));
}

/* The index of the memo's frame that the leaf end leads to; -1: there is none. */
static inline int64_t find_outer(const struct shortcut *s, const struct memo *m, uint64_t sp,
				 uint64_t fp)
{
	if (likely(s->outer < m->count && is_outer(s, &m->frames[s->outer], sp, fp)))
		return s->outer;
	int64_t i = (int64_t)m->count - 1;
	while (i >= 0 && m->frames[i].sp < sp)
		i--;
	return i >= 0 && is_outer(s, &m->frames[i], sp, fp) ? i : -1;
}

/* The node of the leaf end below a frame of the memo. */
static inline uint32_t find_node(struct shortcut *s, struct thread *t,
				 const struct memo_frame *outer)
{
	if (outer->node == s->outer_node)
		return s->node;
	const struct stacktree tree = stacktree_get();
	const struct stacktree_run run = {.outer = outer->node,
					  .outer_hash = outer->hash,
					  .places = s->places,
					  .count = s->place_count};
	uint32_t node = stacktree_find(&tree, &run, outer->hash * s->scale + s->hash);
	if (!node)
		node = stacktree_add(t, &tree, &run);
	s->outer_node = outer->node;
	s->node = node;
	return node;
}

/* Whether the stack that starts here has this leaf end; *fp becomes what it is at its end. */
static inline bool is_leaf_end(const struct shortcut *s, const struct thread *t,
			       const struct walk_start *start, uint64_t *fp)
{
	*fp = start->fp;
	return s->pc == start->pc && s->generation == t->memo.generation && s->word_count != 0 &&
	       (!(s->flags & SHORTCUT_USES_FP) || start->fp - start->sp == s->fp) &&
	       s->reach <= t->stack.high - start->sp && is_unchanged(s, start->sp, fp);
}

/* By this leaf end, if the stack has it and it leads to a part of the memo that is unchanged. */
static inline uint32_t follow(struct thread *t, struct shortcut *s, const struct walk_start *start)
{
	const struct memo *m = &t->memo;
	uint64_t fp;

	if (!is_leaf_end(s, t, start, &fp))
		return 0;
	int64_t outer = find_outer(s, m, start->sp + s->reach, fp);
	if (unlikely(outer < 0)) {
		t->shortcuts->missed = s;
		return 0;
	}
	/* Deeper than is kept: whoever walks it knows how to cut. */
	if (unlikely((uint64_t)outer + 1 + s->place_count > m->room))
		return 0;
	s->outer = (uint32_t)outer;
	return memo_verify(m, (uint32_t)outer) < 0 ? find_node(s, t, &m->frames[outer]) : 0;
}

/* Anywhere in the set. */
static NOINLINE uint32_t search(struct thread *t, uint64_t tag, const struct walk_start *start)
{
	struct shortcut_table *table = t->shortcuts;
	uint32_t set = shortcut_set(tag);

	for (uint32_t way = 0; way < SHORTCUT_WAYS; way++) {
		if (table->tags[set][way] != tag || way == shortcut_way(tag))
			continue;
		uint32_t node = follow(t, &table->at[set][way], start);
		if (node)
			return node;
	}
	return 0;
}

uint32_t shortcut_find(struct thread *t, uint64_t tag, const struct walk_start *start)
{
	struct shortcut_table *table = t->shortcuts;
	uint32_t set = shortcut_set(tag);
	uint32_t way = shortcut_way(tag);

	table->missed = NULL;
	uint32_t node =
		likely(table->tags[set][way] == tag) ? follow(t, &table->at[set][way], start) : 0;
	return likely(node) ? node : search(t, tag, start);
}

/* ---- noting ---------------------------------------------------------------------------------- */

/* The tag of the memo's leaf; as try_shortcut in walk.c makes it of the stack. */
static uint64_t tag_of(const struct memo *m)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct memo_frame *caller = leaf - 1;
	bool plain =
		m->count >= 2 && caller->ra_at && !caller->sp_at && !(caller->flags & MEMO_USES_FP);

	return shortcut_tag(leaf->pc, arch_strip(leaf->ra_value),
			    plain ? arch_strip(caller->ra_value) : 0);
}

/* The place for a leaf end: that of one that is too short, or the one where it is looked for
 * first; what is there moves to the next in turn of the set. */
static struct shortcut *take_place(struct shortcut_table *table, uint64_t tag)
{
	uint32_t set = shortcut_set(tag);
	uint32_t way = shortcut_way(tag);
	uint32_t other = table->turn++ % SHORTCUT_WAYS;

	if (table->missed) {
		struct shortcut *missed = table->missed;

		table->missed = NULL;
		missed->word_count = 0;
		return missed;
	}
	if (other != way) {
		table->tags[set][other] = table->tags[set][way];
		table->at[set][other] = table->at[set][way];
	}
	table->tags[set][way] = tag;
	table->at[set][way].word_count = 0;
	return &table->at[set][way];
}

/* A leaf end as it is put together, leaf first. */
struct draft {
	struct shortcut *s;
	uint64_t sp;
	uint32_t words;
	const struct memo_frame *saved; /* the frame that fp was restored from last, NULL: none */
	bool saved_is_in;		/* and its word is among the words */
};

static bool put_word(struct draft *d, uint64_t at, uint64_t value)
{
	uint64_t offset = at - d->sp;

	if (d->words == SHORTCUT_WORDS || offset % 8 || offset / 8 > UINT16_MAX)
		return false;
	d->s->values[d->words] = value;
	d->s->offsets[d->words++] = (uint16_t)(offset / 8);
	return true;
}

/* A step, or the memo's part beyond, depends on fp: then so does the leaf end on its source. */
static bool put_source_of_fp(struct draft *d, bool at_end)
{
	if (!d->saved) {
		d->s->flags |= at_end ? 0 : SHORTCUT_USES_FP;
		return true;
	}
	if (d->saved_is_in)
		return true;
	d->saved_is_in = true;
	d->s->saved |= (uint16_t)(1u << d->words);
	return put_word(d, d->saved->fp_at, d->saved->fp_value - d->sp);
}

static bool put_place(struct shortcut *s, uint32_t place)
{
	if (place & RULES_HIDDEN)
		return true;
	if (s->place_count == SHORTCUT_PLACES)
		return false;
	s->places[s->place_count++] = place;
	return true;
}

/* Only steps by a constant from sp or fp are understood here. */
static bool put_frame(struct draft *d, const struct memo_frame *f)
{
	if (!f->ra_at || f->sp_at || (f->flags & MEMO_EXACT))
		return false;
	if ((f->flags & MEMO_USES_FP) && !put_source_of_fp(d, false))
		return false;
	if (!put_word(d, f->ra_at, arch_strip(f->ra_value)) || !put_place(d->s, f->place))
		return false;
	if (f->fp_at) {
		d->saved = f;
		d->saved_is_in = false;
	}
	return true;
}

static bool put_frames(struct draft *d, const struct memo *m, uint32_t kept)
{
	const struct memo_frame *outer = &m->frames[kept - 1];

	for (uint32_t i = m->count; i-- > kept;)
		if (!put_frame(d, &m->frames[i]))
			return false;
	if ((outer->flags & MEMO_NEEDS_FP) && !put_source_of_fp(d, true))
		return false;
	if (d->saved && !d->saved_is_in)
		d->s->flags |= SHORTCUT_LOSES_FP;
	return outer->sp - d->sp < UINT32_MAX;
}

static void put_hash(struct shortcut *s)
{
	s->hash = 0;
	s->scale = 1;
	for (uint32_t i = s->place_count; i-- > 0;) {
		s->hash = stacktree_hash(s->hash, s->places[i]);
		s->scale *= STACKTREE_BASE;
	}
}

void shortcut_init(struct shortcut_table *table)
{
	/* The entries need no clearing: only a tag leads to one. */
	__builtin_memset(table->tags, 0, sizeof(table->tags));
	table->missed = NULL;
}

void shortcut_note(struct shortcut_table *table, const struct memo *m, uint32_t kept)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct memo_frame *outer = &m->frames[kept - 1];

	if (m->count <= kept || kept == 0 || m->count - kept > SHORTCUT_PLACES ||
	    (outer->flags & MEMO_EXACT))
		return;
	struct shortcut *s = take_place(table, tag_of(m));
	struct draft d = {.s = s, .sp = leaf->sp};
	s->flags = 0;
	s->saved = 0;
	s->place_count = 0;
	if (!put_frames(&d, m, kept))
		return;
	put_hash(s);
	s->pc = leaf->pc;
	s->fp = leaf->fp - leaf->sp;
	s->reach = (uint32_t)(outer->sp - leaf->sp);
	s->generation = m->generation;
	s->outer = kept - 1;
	s->outer_pc = outer->pc;
	s->outer_node = outer->node;
	s->node = leaf->node;
	s->word_count = d.words;
}
