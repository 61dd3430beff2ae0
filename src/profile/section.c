/* section.c -- the headers of a profile file and of its sections.
 * Runs: offline; called by writer and reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/section.h"

#include <string.h>
#include <xxhash.h>

const uint8_t section_magic[WIRE_MAGIC_BYTES] = {WIRE_MAGIC};
const uint8_t section_sync[WIRE_SYNC_BYTES] = {WIRE_SYNC};

uint64_t section_hash(const void *stored, size_t bytes)
{
	return XXH64(stored, bytes, 0);
}

void section_put_file_header(uint8_t out[WIRE_FILE_HEADER_BYTES], uint32_t version)
{
	memset(out, 0, WIRE_FILE_HEADER_BYTES);
	memcpy(out, section_magic, WIRE_MAGIC_BYTES);
	wire_put_u32(out + WIRE_FILE_VERSION, version);
	wire_put_u64(out + WIRE_FILE_CHECK, XXH64(out, WIRE_FILE_CHECK, 0));
}

void section_put_header(uint8_t out[WIRE_SECTION_HEADER_BYTES], const struct section *s)
{
	memcpy(out, section_sync, WIRE_SYNC_BYTES);
	wire_put_u32(out + WIRE_SECTION_TAG, s->tag);
	wire_put_u32(out + WIRE_SECTION_FLAGS, s->flags);
	wire_put_u32(out + WIRE_SECTION_SEQUENCE, s->sequence);
	wire_put_u32(out + WIRE_SECTION_RAW, s->raw_bytes);
	wire_put_u32(out + WIRE_SECTION_STORED, s->stored_bytes);
	wire_put_u64(out + WIRE_SECTION_HASH, s->hash);
	wire_put_u64(out + WIRE_SECTION_CHECK, XXH64(out, WIRE_SECTION_CHECK, 0));
}

bool section_is_file_header(const uint8_t at[WIRE_FILE_HEADER_BYTES])
{
	return wire_get_u64(at + WIRE_FILE_CHECK) == XXH64(at, WIRE_FILE_CHECK, 0);
}

bool section_take_header(const uint8_t at[WIRE_SECTION_HEADER_BYTES], struct section *s)
{
	if (memcmp(at, section_sync, WIRE_SYNC_BYTES) != 0)
		return false;
	if (wire_get_u64(at + WIRE_SECTION_CHECK) != XXH64(at, WIRE_SECTION_CHECK, 0))
		return false;
	s->tag = wire_get_u32(at + WIRE_SECTION_TAG);
	s->flags = wire_get_u32(at + WIRE_SECTION_FLAGS);
	s->sequence = wire_get_u32(at + WIRE_SECTION_SEQUENCE);
	s->raw_bytes = wire_get_u32(at + WIRE_SECTION_RAW);
	s->stored_bytes = wire_get_u32(at + WIRE_SECTION_STORED);
	s->hash = wire_get_u64(at + WIRE_SECTION_HASH);
	return true;
}

static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == ' ';
}

const char *section_print_tag(uint32_t tag, char out[5])
{
	for (unsigned i = 0; i < 4; i++) {
		char c = (char)(tag >> (8 * i) & 0xff);
		out[i] = c;
		if (!is_plain(c))
			out[i] = '?';
	}
	out[4] = 0;
	while (out[0] && out[strlen(out) - 1] == ' ')
		out[strlen(out) - 1] = 0;
	return out;
}
