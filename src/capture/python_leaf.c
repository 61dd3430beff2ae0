/* python_leaf.c -- the native ends of recent stacks of Python, from a hook's caller to the loop.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_leaf.h"

#include "capture/rules.h"

void python_leaf_forget(struct python_leaves *table)
{
	table->turn = 0;
	for (uint32_t i = 0; i < PYTHON_LEAF_WAYS << PYTHON_LEAF_SET_BITS; i++)
		table->at[i].pc = 0;
	__builtin_memset(table->pairs, 0, sizeof(table->pairs));
}

bool python_leaf_is_unchanged_with_fp(const struct python_leaf *s, const struct walk_start *start)
{
	uint64_t sp = start->sp, changed = 0;

	if (s->uses_fp && start->fp - sp != s->fp)
		return false;
	for (uint32_t i = 0; i < s->word_count; i++) {
		uint64_t now = memo_read(sp + s->offsets[i] * UINT64_C(8));

		changed |= s->values[i] ^ (s->saved >> i & 1 ? now - sp : arch_strip(now));
	}
	return changed == 0;
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

/* They are compared four at a time. */
static void put_fours(struct python_leaf *s)
{
	uint32_t last = s->word_count - 1u;

	while (s->word_count % 4) {
		uint32_t i = s->word_count++;

		s->values[i] = s->values[last];
		s->offsets[i] = s->offsets[last];
		s->saved |= (uint16_t)((s->saved >> last & 1) << i);
	}
	s->is_odd = s->uses_fp || s->saved;
}

_Static_assert(PYTHON_LEAF_WORDS % 4 == 0, "there is room for the last one again");

static void put_reach(struct python_leaf *s)
{
	for (uint32_t i = 0; i < s->word_count; i++)
		if (s->reach < s->offsets[i] * 8u + 8)
			s->reach = s->offsets[i] * 8u + 8;
}

struct python_leaf *python_leaf_note(struct python_leaves *table, const struct walk_start *start,
				     const struct walk_goal *goal)
{
	uint64_t distance = goal->address ? goal->address - start->sp : 0;
	struct python_leaf *s =
		python_leaf_set(table, start->pc, distance) + table->turn++ % PYTHON_LEAF_WAYS;
	struct draft d = {.s = s, .sp = start->sp};

	if (!goal->reached || goal->is_odd || goal->count < 2 || goal->count > PYTHON_LEAF_PLACES)
		return NULL;
	*s = (struct python_leaf){.goal = distance,
				  .fp = start->fp - start->sp,
				  .serial = table->turn,
				  .generation = goal->generation};
	if (!put_frames(&d, goal))
		return NULL;
	put_fours(s);
	put_reach(s);
	s->pc = start->pc;
	return s;
}
