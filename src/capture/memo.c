/* memo.c -- the last walk of a thread, kept so that the next one can stop where nothing has
 * changed. Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/memo.h"

#include "capture/host.h"

size_t memo_bytes(uint32_t room)
{
	return (size_t)room * (2 * sizeof(struct memo_frame) + sizeof(struct memo_word) +
			       sizeof(uint32_t)) +
	       MEMO_PADS * sizeof(struct memo_word);
}

void memo_init(struct memo *m, uint32_t room, void *memory)
{
	*m = (struct memo){.room = room};
	m->frames = memory;
	m->fresh = m->frames + room;
	m->returns = (struct memo_word *)(void *)(m->fresh + room) + MEMO_PADS;
	for (int i = 1; i <= MEMO_PADS; i++)
		m->returns[-i] = (struct memo_word){.at = (uint64_t)(uintptr_t)&m->nothing};
	m->extra = (uint32_t *)(void *)(m->returns + room);
}

NOINLINE int64_t memo_verify_extra(const struct memo *m, uint32_t top, int64_t changed)
{
	for (uint32_t e = m->extra_count; e-- > 0;) {
		uint32_t i = m->extra[e];

		if (i > top)
			continue;
		if ((int64_t)i <= changed)
			break;
		if (!memo_is_extra_unchanged(m, i))
			return i;
	}
	return changed;
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
	memo_renew(m);
	while (m->extra_count && m->extra[m->extra_count - 1] >= kept)
		m->extra_count--;
	for (uint32_t i = 0; i < fresh_count; i++)
		put(m, kept + i, &m->fresh[fresh_count - 1 - i]);
	m->count = kept + fresh_count;
	return true;
}
