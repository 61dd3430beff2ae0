/* memo.c -- the last walk of a thread, kept so that the next one can stop where nothing has
 * changed. Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/memo.h"

#include "capture/host.h"

size_t memo_bytes(uint32_t room)
{
	return (size_t)room *
	       (2 * sizeof(struct memo_frame) + sizeof(struct memo_word) + sizeof(uint32_t));
}

void memo_init(struct memo *m, uint32_t room, void *memory)
{
	*m = (struct memo){.room = room};
	m->frames = memory;
	m->fresh = m->frames + room;
	m->returns = (struct memo_word *)(void *)(m->fresh + room);
	m->extra = (uint32_t *)(void *)(m->returns + room);
}

static inline uint64_t word(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT: a slot of the walked stack */
}

static inline uint64_t difference(const struct memo_word *w)
{
	return word(w->at) ^ w->value;
}

/* The innermost changed return address at or below `top`, or -1. Four at a time: nearly always none
 * has changed. */
static inline int64_t verify_returns(const struct memo *m, int64_t top)
{
	const struct memo_word *w = m->returns;
	int64_t i = top;

	for (; i >= 3; i -= 4)
		if (unlikely(difference(&w[i]) | difference(&w[i - 1]) | difference(&w[i - 2]) |
			     difference(&w[i - 3])))
			break;
	while (i >= 0 && difference(&w[i]) == 0)
		i--;
	return i;
}

static bool is_extra_unchanged(const struct memo_frame *f, uint32_t caller_flags)
{
	return (!f->sp_at || word(f->sp_at) == f->sp_value) &&
	       (!f->fp_at || !(caller_flags & MEMO_NEEDS_FP) || word(f->fp_at) == f->fp_value);
}

static int64_t verify_extra(const struct memo *m, uint32_t top, int64_t changed)
{
	for (uint32_t e = m->extra_count; e-- > 0;) {
		uint32_t i = m->extra[e];

		if (i > top)
			continue;
		if ((int64_t)i <= changed)
			break;
		if (!is_extra_unchanged(&m->frames[i], i ? m->frames[i - 1].flags : 0))
			return i;
	}
	return changed;
}

int64_t memo_verify(const struct memo *m, uint32_t top)
{
	int64_t changed = verify_returns(m, top);

	return likely(!m->extra_count) ? changed : verify_extra(m, top, changed);
}

static inline void put(struct memo *m, uint32_t i, const struct memo_frame *fresh)
{
	struct memo_frame *f = &m->frames[i];
	uint32_t caller = i ? f[-1].flags & MEMO_NEEDS_FP : 0;

	*f = *fresh;
	if ((f->flags & MEMO_USES_FP) || (!f->fp_at && caller))
		f->flags |= MEMO_NEEDS_FP;
	m->returns[i].at = f->ra_at ? f->ra_at : (uint64_t)(uintptr_t)&m->nothing;
	m->returns[i].value = f->ra_value;
	if (unlikely(f->sp_at || (f->fp_at && caller)))
		m->extra[m->extra_count++] = i;
}

bool memo_replace(struct memo *m, uint32_t kept, uint32_t fresh_count)
{
	if (unlikely(kept + fresh_count > m->room)) {
		memo_clear(m);
		return false;
	}
	while (m->extra_count && m->extra[m->extra_count - 1] >= kept)
		m->extra_count--;
	for (uint32_t i = 0; i < fresh_count; i++)
		put(m, kept + i, &m->fresh[fresh_count - 1 - i]);
	m->count = kept + fresh_count;
	return true;
}
