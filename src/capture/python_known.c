/* python_known.c -- whole stacks of Python that a thread has met, each in a place of its own.
 * Runs: any thread of the target, inside malloc. Called by python_quick.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_known.h"

void python_known_forget(struct python_known_table *table)
{
	__builtin_memset(table, 0, sizeof(*table));
}

static bool is_same(const struct python_known *e, const struct python_known_key *k)
{
	const uint64_t sp = k->sp;
	const uint32_t count = e->flags & PYTHON_KNOWN_LONG ? 8 : 4;
	const uint8_t early = python_known_early(e);
	uint64_t changed = 0;

	if ((early && python_reads_byte(k->owner) + 1 != early) ||
	    ((e->flags & PYTHON_KNOWN_USES_FP) && k->fp - sp != e->fp))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t now = memo_read(sp + e->offsets[i] * UINT64_C(8));

		changed |= e->values[i] ^ (e->saved >> i & 1 ? now - sp : arch_strip(now));
	}
	return changed == 0;
}

const struct python_known *python_known_find_odd(struct python_known_table *table,
						 const struct python_known_key *k)
{
	const struct python_known *e = python_known_set(table, k);

	for (uint32_t way = 0; way < 2; way++, e++)
		if (e->flags > PYTHON_KNOWN_LONG && python_known_has(e, k) && is_same(e, k))
			return e;
	return NULL;
}

void python_known_note(struct python_known_table *table, const struct python_known_key *k,
		       const struct python_memo_link *f, const struct python_leaf *end,
		       uint32_t node)
{
	struct python_known *e = python_known_set(table, k);

	if (end->word_count > PYTHON_KNOWN_WORDS || k->distance > UINT32_MAX ||
	    end->reach / 8 > UINT16_MAX)
		return;
	e[1] = e[0];
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
	if (end->is_odd)
		e->flags |= PYTHON_KNOWN_FP;
	if (end->uses_fp)
		e->flags |= PYTHON_KNOWN_USES_FP;
	__builtin_memcpy(e->offsets, end->offsets, sizeof(e->offsets));
	__builtin_memcpy(e->values, end->values, sizeof(e->values));
}

_Static_assert(PYTHON_LEAF_WORDS >= PYTHON_KNOWN_WORDS, "they can be copied");
