/* protobuf.c -- messages in the wire format of protocol buffers, put together in memory.
 * Runs: offline, called by the formats that need it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "export/protobuf.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_BYTES = 2 };

#define VARINT_BYTES_MOST 10u /* 64 bits in groups of 7 */

static size_t varint_bytes(uint64_t value)
{
	size_t bytes = 1;

	while (value >>= 7)
		bytes++;
	return bytes;
}

static void put_varint(struct protobuf *p, uint64_t value)
{
	vec_reserve(&p->bytes, VARINT_BYTES_MOST);
	for (; value >= 0x80; value >>= 7)
		p->bytes.at[p->bytes.count++] = (uint8_t)(value | 0x80);
	p->bytes.at[p->bytes.count++] = (uint8_t)value;
}

static void put_key(struct protobuf *p, uint32_t field, enum wire_type type)
{
	put_varint(p, (uint64_t)field << 3 | type);
}

void protobuf_put_number(struct protobuf *p, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	put_key(p, field, WIRE_VARINT);
	put_varint(p, value);
}

void protobuf_put_numbers(struct protobuf *p, uint32_t field, const uint64_t *values, size_t count)
{
	size_t bytes = 0;

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		bytes += varint_bytes(values[i]);
	put_key(p, field, WIRE_BYTES);
	put_varint(p, bytes);
	for (size_t i = 0; i < count; i++)
		put_varint(p, values[i]);
}

void protobuf_put_bytes(struct protobuf *p, uint32_t field, const void *bytes, size_t count)
{
	put_key(p, field, WIRE_BYTES);
	put_varint(p, count);
	if (count == 0)
		return;
	vec_reserve(&p->bytes, count);
	memcpy(p->bytes.at + p->bytes.count, bytes, count);
	p->bytes.count += count;
}

void protobuf_put_message(struct protobuf *p, uint32_t field, struct protobuf *message)
{
	protobuf_put_bytes(p, field, message->bytes.at, message->bytes.count);
	message->bytes.count = 0;
}

void protobuf_free(struct protobuf *p)
{
	vec_free(&p->bytes);
}
