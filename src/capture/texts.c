/* texts.c -- names and paths in the segment, each once; lock-free.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A text is written, then pushed on the chain of its hash. Whoever is interrupted in between has
 * left some bytes unused, and nobody waiting. */
#include "capture/texts.h"

#include <string.h>

#include "capture/host.h"

#define LINK_BYTES sizeof(uint32_t) /* before each text: the next one in its chain */

static _Atomic uint32_t *root_of(const struct texts *s, const char *text, size_t bytes)
{
	uint64_t hash = bytes;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return &s->roots[hash >> 32 & (SEGMENT_TEXT_ROOTS - 1)];
}

static uint32_t next_of(const struct texts *s, uint32_t offset)
{
	uint32_t next;

	memcpy(&next, s->strings + offset - LINK_BYTES, sizeof(next));
	return next;
}

static bool is_text(const char *known, const char *text, size_t bytes)
{
	return strncmp(known, text, bytes) == 0 && known[bytes] == 0;
}

/* Looks through a chain from `first` up to, but not with, `last`. */
static uint32_t find_between(const struct texts *s, uint32_t first, uint32_t last, const char *text,
			     size_t bytes)
{
	for (uint32_t at = first; at != last; at = next_of(s, at))
		if (is_text(s->strings + at, text, bytes))
			return at;
	return 0;
}

/* Where a text of so many bytes can go; 0: nowhere. Not fetch_add: what is full must not wrap
 * around. */
static uint32_t reserve(const struct texts *s, size_t bytes)
{
	uint32_t used = atomic_load_explicit(s->used, memory_order_relaxed);
	uint32_t wanted = (uint32_t)(LINK_BYTES + bytes + 1);

	/* Byte 0 is the empty text. */
	while (used < s->room && s->room - used > wanted) {
		if (atomic_compare_exchange_weak_explicit(s->used, &used, used + wanted,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return used + 1 + (uint32_t)LINK_BYTES;
	}
	return 0;
}

static size_t cut(const char *text, size_t bytes)
{
	if (bytes <= SEGMENT_TEXT_MAX)
		return bytes;
	bytes = SEGMENT_TEXT_MAX;
	while (bytes > SEGMENT_TEXT_MAX - 3 && ((uint8_t)text[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

uint32_t texts_add(const struct texts *s, const char *text, size_t bytes)
{
	bytes = cut(text, bytes);
	_Atomic uint32_t *root = root_of(s, text, bytes);
	/* Pairs with the release below: a text that is linked has its bytes. */
	uint32_t first = atomic_load_explicit(root, memory_order_acquire);
	uint32_t found = find_between(s, first, 0, text, bytes);
	uint32_t fresh = bytes && !found ? reserve(s, bytes) : 0;

	if (!fresh)
		return found;
	memcpy(s->strings + fresh, text, bytes); /* zeroes are behind it */
	for (;;) {
		uint32_t before = first;

		memcpy(s->strings + fresh - LINK_BYTES, &first, LINK_BYTES);
		if (atomic_compare_exchange_strong_explicit(
			    root, &first, fresh, memory_order_acq_rel, memory_order_acquire))
			break;
		/* Others came first: one of them may have brought the same. What was written then
		 * stays unused. */
		found = find_between(s, first, before, text, bytes);
		if (found)
			return found;
	}
	atomic_fetch_add_explicit(s->count, 1, memory_order_relaxed);
	return fresh;
}

struct texts texts_get(void)
{
	char *base = (char *)process->header;

	return (struct texts){
		.roots = (_Atomic uint32_t *)(void *)(base + process->layout.text_roots_offset),
		.strings = base + process->layout.strings_offset,
		.used = &process->header->strings_used,
		.count = &process->header->texts_used,
		.room = process->layout.string_bytes,
	};
}
