/* cursor.h -- a bounded place in bytes that are not to be trusted.
 * Runs: offline, in the profile reader.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first fault sticks with its offset: later takes give 0 and move nothing, so that a caller
 * reads a whole structure and asks once at the end. */
#ifndef MIDDEN_PROFILE_CURSOR_H
#define MIDDEN_PROFILE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/wire.h"

struct cursor {
	const uint8_t *start;
	const uint8_t *at;
	const uint8_t *end;
	const char *fault; /* NULL: none so far; a static text */
	size_t fault_at;   /* offset from start */
};

static inline struct cursor cursor_init(const uint8_t *start, size_t bytes)
{
	return (struct cursor){.start = start, .at = start, .end = start + bytes};
}

static inline size_t cursor_get_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Records the fault, unless there is one, and leaves nothing to take. Returns -1. */
static inline int cursor_fail(struct cursor *c, const char *fault)
{
	if (!c->fault) {
		c->fault = fault;
		c->fault_at = (size_t)(c->at - c->start);
	}
	c->at = c->end;
	return -1;
}

/* `bytes` bytes, or NULL with the fault set. */
static inline const uint8_t *cursor_take_bytes(struct cursor *c, size_t bytes)
{
	const uint8_t *at = c->at;

	if (c->fault || bytes > cursor_get_left(c)) {
		cursor_fail(c, "ends early");
		return NULL;
	}
	c->at += bytes;
	return at;
}

static inline uint32_t cursor_take_u32(struct cursor *c)
{
	const uint8_t *at = cursor_take_bytes(c, 4);

	return at ? wire_get_u32(at) : 0;
}

/* An LEB128 number of at most 64 bits. */
static inline uint64_t cursor_take_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end; shift += 7) {
		uint8_t byte = *c->at;
		if (shift == 63 && byte > 1) {
			cursor_fail(c, "has a number of more than 64 bits");
			return 0;
		}
		c->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor_fail(c, "ends early");
	return 0;
}

#endif
