/* shortcut.c -- the leaf ends of recent walks, kept beside the memo.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/shortcut.h"

#include "capture/rules.h"
#include "capture/stacktree.h"
#include "capture/thread.h"

/* ---- tags ------------------------------------------------------------------------------------ */

/* Keyed by the three innermost frames: one function called from many places is many leaf ends.
 * `second` is 0 where it takes more than sp to find it. */
static inline uint64_t make_tag(uint64_t pc, uint64_t first, uint64_t second)
{
	return (pc ^ first << 21 ^ second << 7) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* The first of the slots in one of which a leaf end with this tag is. */
static inline uint32_t set_of(uint64_t tag)
{
	return (uint32_t)(tag >> (64 - SHORTCUT_SET_BITS)) * SHORTCUT_WAYS;
}

static NOINLINE void fill_step(struct thread *t, struct shortcut_step *step, uint64_t address)
{
	uint32_t place;
	uint64_t rule = rules_find(t, address, t->memo.generation, &place);

	step->address = address;
	step->cfa = (uint32_t)rule_cfa(rule);
	step->ra = (uint32_t)(rule_cfa(rule) - rule_ra(rule));
	if (rule_kind(rule) == RULE_FP)
		step->cfa |= SHORTCUT_STEP_FP;
	else if (rule_kind(rule) != RULE_SP || rule_cfa(rule) < rule_ra(rule))
		step->cfa |= SHORTCUT_STEP_NONE;
}

static inline const struct shortcut_step *find_step(struct thread *t, uint64_t address)
{
	struct shortcut_step *step = &t->shortcuts->steps[shortcut_step_index(address)];

	if (unlikely(step->address != address))
		fill_step(t, step, address);
	return step;
}

/* What calls of a stack can be had before any walk. Wherever this reads is in the thread's stack;
 * right or wrong, only the leaf end that is found will tell. */
struct approach {
	uint64_t room;	 /* bytes from sp that can be read, less a word */
	uint64_t first;	 /* return address of the leaf; 0: nothing can be said without walking */
	uint64_t caller; /* bytes from sp to its caller's */
};

static inline struct approach find_first(struct thread *t, const struct walk_start *start)
{
	const struct shortcut_step *step = find_step(t, start->pc - 1);
	uint64_t base = step->cfa & SHORTCUT_STEP_FP ? start->fp - start->sp : 0;
	struct approach a = {.room = t->stack.high - start->sp - 8,
			     .caller = base + (step->cfa & ~7u)};
	uint64_t at = base + step->ra;

	/* All reads for this start, here and later, rely on sp being in the thread's own stack. */
	if (likely(!(step->cfa & SHORTCUT_STEP_NONE) &&
		   start->sp - t->stack.low < t->stack.high - t->stack.low &&
		   (start->sp & 7) == 0 && at <= a.room))
		a.first = arch_strip(memo_read(start->sp + at));
	return a;
}

static inline uint64_t find_tag(struct thread *t, const struct walk_start *start,
				const struct approach *a)
{
	const struct shortcut_step *step = find_step(t, a->first - 1);
	uint64_t at = a->caller + step->ra;

	/* If no leaf end is found, the walk begins with these. */
	rules_prefetch(start->pc - 1);
	rules_prefetch(a->first - 1);
	if ((step->cfa & (SHORTCUT_STEP_FP | SHORTCUT_STEP_NONE)) || at > a->room)
		return make_tag(start->pc, a->first, 0);
	uint64_t second = arch_strip(memo_read(start->sp + at));
	rules_prefetch(second - 1);
	return make_tag(start->pc, a->first, second);
}

static inline uint16_t *recent_of(struct shortcut_table *table, const struct walk_start *start,
				  uint64_t first)
{
	return &table->recent[shortcut_recent_index(start, first)];
}

/* The same of the memo's leaf. */
static uint64_t get_tag(const struct memo *m)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct memo_frame *caller = leaf - 1;
	bool plain =
		m->count >= 2 && caller->ra_at && !caller->sp_at && !(caller->flags & MEMO_USES_FP);

	return make_tag(leaf->pc, arch_strip(leaf->ra_value),
			plain ? arch_strip(caller->ra_value) : 0);
}

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
			changed |= (now - sp) ^ (s->values[i] - s->sp);
			*fp = now;
		} else {
			changed |= arch_strip(now) ^ arch_strip(s->values[i]);
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
		changed |= arch_strip(read_word(s, i, sp)) ^ arch_strip(s->values[i]);
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

/* What find_node will have to look for, while the memo is being compared. */
static inline void prefetch_node(const struct shortcut *s, const struct memo_frame *outer)
{
	const struct stacktree tree = stacktree_get();

	stacktree_prefetch(&tree, outer->hash * s->scale + s->hash);
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
	if (!node) {
		bool full = false;

		node = stacktree_add(t, &tree, &run, &full);
		if (unlikely(full))
			return node; /* each time it has to be counted again */
	}
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
	       (!(s->flags & SHORTCUT_USES_FP) || start->fp - start->sp == s->fp - s->sp) &&
	       s->reach <= t->stack.high - start->sp && is_unchanged(s, start->sp, fp);
}

/* What walk_quick.h has to look at besides. */
static inline void put_flags(struct shortcut *s, const struct memo *m, uint32_t outer)
{
	bool needs_fp = (m->frames[outer].flags & MEMO_NEEDS_FP) != 0;

	s->flags &= SHORTCUT_USES_FP | SHORTCUT_LOSES_FP;
	if ((s->flags & SHORTCUT_USES_FP) || (needs_fp && !s->saved))
		s->flags |= SHORTCUT_KEEPS_FP;
	if (m->extra_count)
		s->flags |= SHORTCUT_EXTRA;
}

/* The stack that starts here has this leaf end, and it leads to a frame of the memo. The next walk
 * that starts here and finds the same need not ask again (walk_quick.h). */
static void settle(struct shortcut *s, struct memo *m, const struct walk_start *start,
		   uint32_t outer)
{
	memo_last(m);
	for (uint32_t i = 0; i < s->word_count; i += 2) {
		s->values[i] = read_word(s, i, start->sp);
		s->values[i + 1] = read_word(s, i + 1, start->sp);
	}
	s->sp = start->sp;
	s->fp = start->fp;
	s->outer = outer;
	put_flags(s, m, outer);
	s->serial = m->serial;
}

/* By this leaf end, if the stack has it and it leads to a part of the memo that is unchanged. */
static inline __attribute__((always_inline)) uint32_t follow(struct thread *t, struct shortcut *s,
							     const struct walk_start *start)
{
	struct memo *m = &t->memo;
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
	if (m->frames[outer].node != s->outer_node)
		prefetch_node(s, &m->frames[outer]);
	if (memo_verify(m, (uint32_t)outer) >= 0)
		return 0;
	uint32_t node = find_node(s, t, &m->frames[outer]);
	if (s->lately != (uint32_t)m->serial) { /* few are met again before the memo changes */
		s->lately = (uint32_t)m->serial;
		s->serial = 0;
		s->outer = (uint32_t)outer;
	} else if (likely(s->outer_node == m->frames[outer].node)) {
		settle(s, m, start, (uint32_t)outer);
	}
	return node;
}

/* Among all that begin with the same three frames. */
static NOINLINE uint32_t search(struct thread *t, const struct walk_start *start,
				const struct approach *a)
{
	struct shortcut_table *table = t->shortcuts;
	uint64_t tag = find_tag(t, start, a);
	uint32_t set = set_of(tag);

	for (uint32_t i = set; i < set + SHORTCUT_WAYS; i++) {
		if (table->tags[i] != tag)
			continue;
		uint32_t node = follow(t, &table->at[table->filed[i]], start);
		if (node) {
			*recent_of(table, start, a->first) = table->filed[i];
			return node;
		}
	}
	return 0;
}

uint32_t shortcut_find(struct thread *t, const struct walk_start *start)
{
	struct shortcut_table *table = t->shortcuts;
	const struct approach a = find_first(t, start);

	table->missed = NULL;
	if (unlikely(!a.first))
		return 0;
	uint32_t node = follow(t, &table->at[*recent_of(table, start, a.first)], start);
	return likely(node) ? node : search(t, start, &a);
}

/* ---- noting ---------------------------------------------------------------------------------- */

/* Whether one more may be kept. */
static bool has_room(struct shortcut_table *table)
{
	if (likely(table->used < (table->shares + 1) * SHORTCUT_SHARE))
		return true;
	if (table->used == SHORTCUT_MOST ||
	    atomic_load_explicit(&process->shortcut_shares, memory_order_relaxed) >=
		    SHORTCUT_SHARES ||
	    atomic_fetch_add_explicit(&process->shortcut_shares, 1, memory_order_relaxed) >=
		    SHORTCUT_SHARES)
		return false;
	table->shares++;
	return true;
}

/* One that is filed nowhere: a new one, or the oldest. */
static struct shortcut *take_unfiled(struct shortcut_table *table)
{
	if (has_room(table))
		return &table->at[++table->used];
	struct shortcut *oldest = &table->at[1 + table->turn++ % table->used];
	table->tags[oldest->slot] = 0;
	return oldest;
}

/* The place for a leaf end: that of one that is too short; a free slot of its set; or, where the
 * set is full, the next in turn. */
static struct shortcut *take_place(struct shortcut_table *table, uint64_t tag)
{
	uint32_t set = set_of(tag), slot = set + table->turn % SHORTCUT_WAYS;
	struct shortcut *s = table->missed;

	table->missed = NULL;
	for (uint32_t i = 0; !s && i < SHORTCUT_WAYS; i++) {
		if (table->tags[set + i])
			continue;
		s = take_unfiled(table);
		s->slot = (uint16_t)(set + i);
		table->filed[s->slot] = (uint16_t)(s - table->at);
	}
	if (!s) {
		s = &table->at[table->filed[slot]];
		table->turn++;
	}
	table->tags[s->slot] = tag;
	s->word_count = 0;
	s->serial = 0;
	return s;
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
		if (!at_end)
			d->s->flags |= SHORTCUT_USES_FP;
		return true;
	}
	if (d->saved_is_in)
		return true;
	d->saved_is_in = true;
	d->s->saved |= (uint16_t)(1u << d->words);
	return put_word(d, d->saved->fp_at, d->saved->fp_value);
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
	if (!put_word(d, f->ra_at, f->ra_value) || !put_place(d->s, f->place))
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

void shortcut_forget_steps(struct shortcut_table *table)
{
	__builtin_memset(table->steps, 0, sizeof(table->steps));
}

void shortcut_forget_ends(struct shortcut_table *table)
{
	shortcut_forget_steps(table);
	table->missed = NULL;
	for (uint32_t i = 0; i <= table->used; i++) {
		table->at[i].word_count = 0;
		table->at[i].serial = 0;
	}
	if (table->used) /* leaves untouched what was never used */
		__builtin_memset(table->tags, 0, sizeof(table->tags));
	table->used = 0;
}

/* Where and how the walk began that the memo is of. */
static void put_start(struct shortcut *s, const struct memo *m, uint32_t outer)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];

	s->pc = leaf->pc;
	s->sp = leaf->sp;
	s->fp = leaf->fp;
	s->outer = outer;
	s->node = leaf->node;
	put_flags(s, m, outer);
	s->serial = m->serial;
}

static bool put_leaf_end(struct shortcut *s, const struct memo *m, uint32_t kept)
{
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct memo_frame *outer = &m->frames[kept - 1];
	struct draft d = {.s = s, .sp = leaf->sp};

	s->flags = 0;
	s->saved = 0;
	s->place_count = 0;
	if (!put_frames(&d, m, kept))
		return false;
	if (d.words % 2) {
		s->values[d.words] = s->values[0];
		s->offsets[d.words] = s->offsets[0];
	}
	put_hash(s);
	s->reach = (uint32_t)(outer->sp - leaf->sp);
	s->outer_pc = outer->pc;
	s->generation = m->generation;
	s->outer_node = outer->node;
	put_start(s, m, kept - 1);
	s->word_count = (uint8_t)d.words;
	return true;
}

/* The whole memo, which begins with a leaf end that cannot be kept: for walk_quick.h, as long as
 * the memo stays. Its words are the leaf's return address, twice. */
static bool put_memo(struct shortcut *s, const struct memo *m)
{
	struct draft d = {.s = s, .sp = m->frames[m->count - 1].sp};
	const struct memo_frame *leaf = &m->frames[m->count - 1];

	s->serial = 0;
	s->flags = 0;
	s->saved = 0;
	if (!leaf->ra_at || (leaf->flags & MEMO_EXACT) ||
	    !put_word(&d, leaf->ra_at, leaf->ra_value) ||
	    !put_word(&d, leaf->ra_at, leaf->ra_value))
		return false;
	put_start(s, m, m->count - 1);
	return true;
}

static bool has_leaf_end(const struct memo *m, uint32_t kept)
{
	return m->count > kept && kept > 0 && m->count - kept <= SHORTCUT_PLACES &&
	       !(m->frames[kept - 1].flags & MEMO_EXACT);
}

/* The leaf end that is noted, or the whole memo; NULL: neither can be. */
static struct shortcut *put(struct shortcut_table *table, const struct memo *m, uint32_t kept)
{
	struct shortcut *s = has_leaf_end(m, kept) ? take_place(table, get_tag(m)) : NULL;

	if (s && put_leaf_end(s, m, kept))
		return s;
	s = &table->at[0];
	return put_memo(s, m) ? s : NULL;
}

void shortcut_note(struct thread *t, uint32_t kept)
{
	struct shortcut_table *table = t->shortcuts;
	const struct memo *m = &t->memo;
	const struct shortcut *s = m->count ? put(table, m, kept) : NULL;

	if (!s)
		return;
	/* So that walk_quick.h finds it. */
	const struct memo_frame *leaf = &m->frames[m->count - 1];
	const struct walk_start start = {.pc = leaf->pc, .sp = leaf->sp, .fp = leaf->fp};
	*recent_of(table, &start, find_first(t, &start).first) = (uint16_t)(s - table->at);
}
