/* protobuf.h -- messages in the wire format of protocol buffers, put together in memory.
 * Runs: offline, called by the formats that need it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	struct protobuf line = {0};
 *	protobuf_put_number(&line, 2, 30);           // field 2 is 30
 *	protobuf_put_message(&location, 4, &line);   // field 4 is the message; line is empty again
 *	protobuf_free(&line);
 */
#ifndef MIDDEN_EXPORT_PROTOBUF_H
#define MIDDEN_EXPORT_PROTOBUF_H

#include <stdint.h>

#include "base/vec.h"

/* Zero-initialise. */
struct protobuf {
	VEC(uint8_t) bytes;
};

/* An integer field (a negative int64 as its two's complement). 0 is what a field has that is not
 * there, so it puts nothing. */
void protobuf_put_number(struct protobuf *p, uint32_t field, uint64_t value);

/* A field of a repeated integer, packed; nothing if there are none. */
void protobuf_put_numbers(struct protobuf *p, uint32_t field, const uint64_t *values, size_t count);

/* A string or bytes field; put even if it is empty, because it may be an element of a list. */
void protobuf_put_bytes(struct protobuf *p, uint32_t field, const void *bytes, size_t count);

/* A message field; the message is emptied for the next one. */
void protobuf_put_message(struct protobuf *p, uint32_t field, struct protobuf *message);

void protobuf_free(struct protobuf *p);

#endif
