/* codec.c -- rows of a table to and from a section's payload.
 * Runs: offline; called by writer and reader.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns are stored one after another because neighbouring rows resemble each other member by
 * member: differences get small, and zstd sees runs of like numbers. */
#include "profile/codec.h"

#include <string.h>

#include "base/vec.h"
#include "format/wire.h"

#define VARINT_MAX 10u /* bytes of a 64-bit number, 7 bits each */

/* ---- numbers --------------------------------------------------------------------------------- */

/* Differences are taken modulo 2^64, so every pair of values has one; small negative ones stay
 * short. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (UINT64_C(0) - (difference >> 63));
}

static uint64_t unzigzag(uint64_t coded)
{
	return coded >> 1 ^ (UINT64_C(0) - (coded & 1));
}

static inline uint8_t *append_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

void codec_put_varint(struct codec_buffer *out, uint64_t value)
{
	vec_reserve(out, VARINT_MAX);
	out->count = (size_t)(append_varint(out->at + out->count, value) - out->at);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Inlined where the kind is a constant: what is done for millions of rows does not ask for it. */
static inline __attribute__((always_inline)) uint64_t load(enum column_kind kind, const char *at)
{
	uint64_t u64;
	uint32_t u32;
	int32_t i32;

	switch (kind) {
	case COLUMN_U64:
		memcpy(&u64, at, sizeof(u64));
		return u64;
	case COLUMN_U32:
		memcpy(&u32, at, sizeof(u32));
		return u32;
	case COLUMN_I32:
		memcpy(&i32, at, sizeof(i32));
		return (uint64_t)(int64_t)i32;
	default:
		return *at != 0;
	}
}

/* False if the member cannot hold the value. */
static bool store(const struct column *column, char *at, uint64_t value)
{
	uint32_t u32 = (uint32_t)value;

	switch (column->kind) {
	case COLUMN_U64:
		memcpy(at, &value, sizeof(value));
		return true;
	case COLUMN_U32:
		memcpy(at, &u32, sizeof(u32));
		return u32 == value;
	case COLUMN_I32:
		memcpy(at, &u32, sizeof(u32));
		return (uint64_t)(int64_t)(int32_t)u32 == value;
	default:
		*at = (char)(value == 1);
		return value <= 1;
	}
}

static bool is_zero(const char *at, size_t bytes)
{
	while (bytes && !at[bytes - 1])
		bytes--;
	return bytes == 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One column of the rows at hand. */
struct stripe {
	const struct column *column;
	char *at; /* the member in the first row */
	size_t stride;
	struct codec_block block;
};

static inline __attribute__((always_inline)) bool are_zero(const struct stripe *s,
							   enum column_kind kind)
{
	for (uint64_t i = 0; i < s->block.count; i++)
		if (load(kind, s->at + i * s->stride) != 0)
			return false;
	return true;
}

static bool are_bytes_zero(const struct stripe *s)
{
	for (uint64_t i = 0; i < s->block.count; i++)
		if (!is_zero(s->at + i * s->stride, s->column->bytes))
			return false;
	return true;
}

static bool stripe_is_zero(const struct stripe *s)
{
	switch ((enum column_kind)s->column->kind) {
	case COLUMN_U64:
		return are_zero(s, COLUMN_U64);
	case COLUMN_U32:
	case COLUMN_I32:
		return are_zero(s, COLUMN_U32);
	case COLUMN_BOOL:
		return are_zero(s, COLUMN_BOOL);
	default:
		return are_bytes_zero(s);
	}
}

static uint8_t *append_bytes(uint8_t *out, const struct stripe *s)
{
	if (s->stride == s->column->bytes) { /* strings: megabytes of one-byte rows */
		memcpy(out, s->at, s->block.count * s->stride);
		return out + s->block.count * s->stride;
	}
	for (uint64_t i = 0; i < s->block.count; i++, out += s->column->bytes)
		memcpy(out, s->at + i * s->stride, s->column->bytes);
	return out;
}

static inline __attribute__((always_inline)) uint8_t *append_coded(uint8_t *out,
								   const struct stripe *s,
								   enum column_kind kind,
								   unsigned coding)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < s->block.count; i++) {
		uint64_t value = load(kind, s->at + i * s->stride);
		uint64_t coded = value;

		if (coding == WIRE_DELTA)
			coded = zigzag(value - before);
		else if (coding == WIRE_BEHIND)
			coded = s->block.first + i - value;
		before = value;
		out = append_varint(out, coded);
	}
	return out;
}

static uint8_t *append_numbers(uint8_t *out, const struct stripe *s)
{
	const enum column_kind kind = s->column->kind;
	const unsigned coding = s->column->coding;

	if (kind == COLUMN_U64 && coding == WIRE_DELTA)
		return append_coded(out, s, COLUMN_U64, WIRE_DELTA);
	if (kind == COLUMN_U64 && coding == WIRE_PLAIN)
		return append_coded(out, s, COLUMN_U64, WIRE_PLAIN);
	if (kind == COLUMN_U32 && coding == WIRE_DELTA)
		return append_coded(out, s, COLUMN_U32, WIRE_DELTA);
	return append_coded(out, s, kind, coding);
}

static void put_stripe(struct codec_buffer *out, const struct stripe *s)
{
	const struct column *column = s->column;
	size_t most = column->kind == COLUMN_BYTES ? column->bytes : VARINT_MAX;

	codec_put_varint(out, (uint64_t)column->id << WIRE_CODING_BITS | column->coding);
	vec_reserve(out, 4 + most * s->block.count);

	uint8_t *length = out->at + out->count;
	uint8_t *end = column->kind == COLUMN_BYTES ? append_bytes(length + 4, s)
						    : append_numbers(length + 4, s);
	wire_put_u32(length, (uint32_t)(end - length) - 4);
	out->count = (size_t)(end - out->at);
}

void codec_put_rows(struct codec_buffer *out, const struct table *t, const void *base,
		    struct codec_block block)
{
	codec_put_block(out, t, columns_get_row(t, base, block.first), block);
}

void codec_put_block(struct codec_buffer *out, const struct table *t, void *rows,
		     struct codec_block block)
{
	codec_put_varint(out, block.first);
	codec_put_varint(out, block.count);
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *column = &t->columns[i];
		struct stripe stripe = {column, (char *)rows + column->offset, t->row_bytes, block};

		if (!stripe_is_zero(&stripe))
			put_stripe(out, &stripe);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

struct codec_block codec_take_block(struct cursor *c)
{
	struct codec_block block;

	block.first = cursor_take_varint(c);
	block.count = cursor_take_varint(c);
	return block;
}

static void take_bytes(struct cursor *c, const struct stripe *s)
{
	const uint8_t *from = cursor_take_bytes(c, s->block.count * s->column->bytes);

	if (!from)
		return;
	if (s->stride == s->column->bytes) {
		memcpy(s->at, from, s->block.count * s->stride);
		return;
	}
	for (uint64_t i = 0; i < s->block.count; i++, from += s->column->bytes)
		memcpy(s->at + i * s->stride, from, s->column->bytes);
}

static void take_numbers(struct cursor *c, const struct stripe *s, unsigned coding)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < s->block.count; i++) {
		uint64_t coded = cursor_take_varint(c);
		uint64_t value = coded;

		if (coding == WIRE_DELTA)
			value = before + unzigzag(coded);
		else if (coding == WIRE_BEHIND)
			value = s->block.first + i - coded;
		before = value;
		if (!store(s->column, s->at + i * s->stride, value)) {
			cursor_fail(c, "has a number too large for its column");
			return;
		}
	}
}

/* One column from its own bytes: it can neither run into the next one nor leave bytes over. */
static int take_stripe(struct cursor *c, const struct stripe *s, unsigned coding)
{
	bool bytes = s->column->kind == COLUMN_BYTES;

	if (coding > WIRE_BYTES || bytes != (coding == WIRE_BYTES))
		return cursor_fail(c, "has a column in an unknown coding");
	if (bytes)
		take_bytes(c, s);
	else
		take_numbers(c, s, coding);
	if (!c->fault && cursor_get_left(c))
		cursor_fail(c, "has a column longer than its rows");
	return c->fault ? -1 : 0;
}

int codec_take_rows(struct cursor *c, const struct table *t, void *base, struct codec_block block)
{
	return codec_take_columns(c, t, columns_get_row(t, base, block.first), block);
}

int codec_take_columns(struct cursor *c, const struct table *t, void *rows,
		       struct codec_block block)
{
	while (cursor_get_left(c)) {
		uint64_t key = cursor_take_varint(c);
		uint32_t bytes = cursor_take_u32(c);
		const uint8_t *data = cursor_take_bytes(c, bytes);
		const struct column *column = columns_find(t, key >> WIRE_CODING_BITS);

		if (!data || !column)
			continue;
		struct stripe stripe = {column, (char *)rows + column->offset, t->row_bytes, block};
		struct cursor inner = *c;
		inner.at = data;
		inner.end = data + bytes;
		if (take_stripe(&inner, &stripe, key & ((1u << WIRE_CODING_BITS) - 1)))
			*c = inner;
	}
	return c->fault ? -1 : 0;
}
