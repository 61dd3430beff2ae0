/* memo.c -- the last walk of a thread, kept so that the next one can stop where nothing has
 * changed. Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/memo.h"

#include "capture/host.h"

size_t memo_bytes(uint32_t room)
{
	return (size_t)room *
	       (2 * sizeof(struct memo_frame) + 2 * sizeof(uint64_t) + sizeof(uint32_t));
}

void memo_init(struct memo *m, uint32_t room, void *memory)
{
	*m = (struct memo){.room = room};
	m->frames = memory;
	m->fresh = m->frames + room;
	m->ra_at = (uint64_t *)(void *)(m->fresh + room);
	m->ra_value = m->ra_at + room;
	m->extra = (uint32_t *)(void *)(m->ra_value + room);
}

static inline uint64_t word(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT: a slot of the walked stack */
}

static inline bool is_extra_unchanged(const struct memo_frame *f, bool caller_needs_fp)
{
	return (!f->sp_at || word(f->sp_at) == f->sp_value) &&
	       (!f->fp_at || !caller_needs_fp || word(f->fp_at) == f->fp_value);
}

/* The innermost changed return address at or below `top`, or -1. Four at a time: nearly always none
 * has changed. */
static inline int64_t verify_returns(const struct memo *m, int64_t top)
{
	const uint64_t *at = m->ra_at;
	const uint64_t *value = m->ra_value;
	int64_t i = top;

	for (; i >= 3; i -= 4) {
		uint64_t changed = (word(at[i]) ^ value[i]) | (word(at[i - 1]) ^ value[i - 1]) |
				   (word(at[i - 2]) ^ value[i - 2]) |
				   (word(at[i - 3]) ^ value[i - 3]);

		if (unlikely(changed))
			break;
	}
	while (i >= 0 && word(at[i]) == value[i])
		i--;
	return i;
}

int64_t memo_verify(const struct memo *m, uint32_t top)
{
	int64_t changed = verify_returns(m, top);

	for (uint32_t e = m->extra_count; e-- > 0;) {
		uint32_t i = m->extra[e];

		if (i > top)
			continue;
		if ((int64_t)i <= changed)
			break;
		if (!is_extra_unchanged(&m->frames[i], i > 0 && m->frames[i - 1].needs_fp))
			return i;
	}
	return changed;
}

static void put(struct memo *m, uint32_t i, const struct memo_frame *fresh)
{
	struct memo_frame *f = &m->frames[i];
	bool caller_needs_fp = i > 0 && f[-1].needs_fp;

	*f = *fresh;
	f->needs_fp = f->uses_fp || (!f->fp_at && caller_needs_fp);
	f->has_extra = f->sp_at || (f->fp_at && caller_needs_fp);
	m->ra_at[i] = f->ra_at ? f->ra_at : (uint64_t)(uintptr_t)&m->nothing;
	m->ra_value[i] = f->ra_at ? f->ra_value : 0;
	if (f->has_extra)
		m->extra[m->extra_count++] = i;
}

bool memo_replace(struct memo *m, uint32_t kept, uint32_t fresh_count)
{
	if (kept + fresh_count > m->room) {
		m->count = 0;
		m->extra_count = 0;
		return false;
	}
	while (m->extra_count && m->extra[m->extra_count - 1] >= kept)
		m->extra_count--;
	for (uint32_t i = 0; i < fresh_count; i++)
		put(m, kept + i, &m->fresh[fresh_count - 1 - i]);
	m->count = kept + fresh_count;
	return true;
}
