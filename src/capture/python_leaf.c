/* python_leaf.c -- the native ends of recent stacks of Python, from a hook's caller to the loop.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_leaf.h"

#include "capture/modules.h"
#include "capture/rules.h"
#include "capture/stacktree.h"

void python_leaf_forget(struct python_leaves *table)
{
	table->turn = 0;
	for (uint32_t i = 0; i < PYTHON_LEAF_WAYS << PYTHON_LEAF_SET_BITS; i++)
		table->at[i].is_whole = false;
	__builtin_memset(table->pairs, 0, sizeof(table->pairs));
}

/* The first of those among which the end is. */
static inline struct python_leaf *set_of(struct python_leaves *table, uint64_t pc, uint64_t goal)
{
	uint64_t hash = (pc ^ goal << 17) * UINT64_C(0x9e3779b97f4a7c15);

	return &table->at[(hash >> (64 - PYTHON_LEAF_SET_BITS)) * PYTHON_LEAF_WAYS];
}

/* ---- following ------------------------------------------------------------------------------- */

static inline uint64_t read_word(const struct python_leaf *s, uint32_t i, uint64_t sp)
{
	return memo_read(sp + s->offsets[i] * UINT64_C(8));
}

static NOINLINE bool is_unchanged_with_fp(const struct python_leaf *s, uint64_t sp)
{
	uint64_t changed = 0;

	for (uint32_t i = 0; i < s->word_count; i++) {
		uint64_t now = read_word(s, i, sp);

		changed |= s->values[i] ^ (s->saved >> i & 1 ? now - sp : arch_strip(now));
	}
	return changed == 0;
}

static inline bool is_unchanged(const struct python_leaf *s, uint64_t sp)
{
	uint64_t changed = 0;

	if (unlikely(s->saved))
		return is_unchanged_with_fp(s, sp);
	for (uint32_t i = 0; i < s->word_count; i++)
		changed |= arch_strip(read_word(s, i, sp)) ^ s->values[i];
	return changed == 0;
}

struct python_leaf *python_leaf_find(struct python_leaves *table, struct thread *t,
				     const struct walk_start *start, uint64_t goal)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	uint64_t sp = start->sp, distance = goal ? goal - sp : 0;
	struct python_leaf *s = set_of(table, start->pc, distance);

	if (unlikely((sp & 7) || !stackrange_covers(&t->stack, sp)))
		return NULL;
	uint64_t most = (t->stack.high - sp) / 8;
	for (uint32_t way = 0; way < PYTHON_LEAF_WAYS; way++, s++)
		if (s->pc == start->pc && s->goal == distance && s->is_whole &&
		    s->generation == generation && (!s->uses_fp || start->fp - sp == s->fp) &&
		    s->offsets[s->word_count - 1] < most && is_unchanged(s, sp))
			return s;
	return NULL;
}

/* ---- noting ---------------------------------------------------------------------------------- */

/* An end as it is put together, leaf first. */
struct draft {
	struct python_leaf *s;
	uint64_t sp;
	const struct memo_frame *saved; /* the frame that fp was restored from last, NULL: none */
	bool saved_is_in;		/* and its word is among the words */
};

static bool put_word(struct draft *d, uint64_t at, uint64_t value)
{
	uint64_t offset = at - d->sp;

	if (d->s->word_count == PYTHON_LEAF_WORDS || offset % 8 || offset / 8 > UINT16_MAX)
		return false;
	d->s->values[d->s->word_count] = value;
	d->s->offsets[d->s->word_count++] = (uint16_t)(offset / 8);
	return true;
}

/* A step depends on fp: then so does the end on its source. */
static bool put_source_of_fp(struct draft *d)
{
	if (!d->saved) {
		d->s->uses_fp = true;
		return true;
	}
	if (d->saved_is_in)
		return true;
	d->saved_is_in = true;
	d->s->saved |= (uint16_t)(1u << d->s->word_count);
	return put_word(d, d->saved->fp_at, d->saved->fp_value - d->sp);
}

/* Only steps by a constant from sp or fp are understood here. */
static bool is_plain(const struct memo_frame *f)
{
	return f->ra_at && !f->sp_at && !(f->flags & (MEMO_EXACT | MEMO_RECORD));
}

static bool put_frame(struct draft *d, const struct memo_frame *f)
{
	struct python_leaf *s = d->s;

	if (!is_plain(f) || ((f->flags & MEMO_USES_FP) && !put_source_of_fp(d)) ||
	    !put_word(d, f->ra_at, arch_strip(f->ra_value)))
		return false;
	if (f->fp_at) {
		d->saved = f;
		d->saved_is_in = false;
	}
	if (f->place & RULES_HIDDEN)
		return true;
	if (s->place_count == PYTHON_LEAF_PLACES)
		return false;
	s->places[s->place_count++] = f->place;
	return true;
}

/* All frames, and what it takes to see that the last is the loop's: its size, not what it returns
 * to. */
static bool put_frames(struct draft *d, const struct walk_goal *goal)
{
	const struct memo_frame *last = &goal->frames[goal->count - 1];

	for (const struct memo_frame *f = goal->frames; f < last; f++)
		if (!put_frame(d, f))
			return false;
	return is_plain(last) && (!(last->flags & MEMO_USES_FP) || put_source_of_fp(d));
}

static void put_hash(struct python_leaf *s)
{
	s->hash = 0;
	s->scale = 1;
	for (uint32_t i = s->place_count; i-- > 0;) {
		s->hash = stacktree_hash(s->hash, s->places[i]);
		s->scale *= STACKTREE_BASE;
	}
}

/* Words may be out of order (a saved fp): the one furthest out last, for the bound in find. */
static void put_furthest_last(struct python_leaf *s)
{
	uint32_t last = s->word_count - 1u, far = last;

	for (uint32_t i = 0; i < last; i++)
		if (s->offsets[i] > s->offsets[far])
			far = i;
	uint64_t value = s->values[far];
	uint16_t offset = s->offsets[far];
	uint32_t bits = (uint32_t)(s->saved >> far & 1) ^ (uint32_t)(s->saved >> last & 1);
	s->values[far] = s->values[last];
	s->offsets[far] = s->offsets[last];
	s->values[last] = value;
	s->offsets[last] = offset;
	if (far != last && bits)
		s->saved ^= (uint16_t)(1u << far | 1u << last);
}

struct python_leaf *python_leaf_note(struct python_leaves *table, const struct walk_start *start,
				     const struct walk_goal *goal)
{
	uint64_t distance = goal->address ? goal->address - start->sp : 0;
	struct python_leaf *s =
		set_of(table, start->pc, distance) + table->turn++ % PYTHON_LEAF_WAYS;
	struct draft d = {.s = s, .sp = start->sp};

	if (!goal->reached || goal->is_odd || goal->count < 2 || goal->count > PYTHON_LEAF_PLACES)
		return NULL;
	*s = (struct python_leaf){.pc = start->pc,
				  .goal = distance,
				  .fp = start->fp - start->sp,
				  .serial = table->turn,
				  .generation = goal->generation};
	if (!put_frames(&d, goal))
		return NULL;
	put_furthest_last(s);
	put_hash(s);
	s->is_whole = true;
	return s;
}
