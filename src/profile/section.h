/* section.h -- the headers of a profile file and of its sections.
 * Runs: offline; called by writer and reader.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_SECTION_H
#define MIDDEN_PROFILE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/wire.h"

extern const uint8_t section_magic[WIRE_MAGIC_BYTES];
extern const uint8_t section_sync[WIRE_SYNC_BYTES];

struct section {
	uint32_t tag;
	uint32_t flags;
	uint32_t sequence;
	uint32_t raw_bytes;
	uint32_t stored_bytes;
	uint64_t hash; /* of the stored bytes */
};

/* Hash of stored bytes, as in section.hash. */
uint64_t section_hash(const void *stored, size_t bytes);

void section_put_file_header(uint8_t out[WIRE_FILE_HEADER_BYTES], uint32_t version);
void section_put_header(uint8_t out[WIRE_SECTION_HEADER_BYTES], const struct section *s);

/* The check of a whole file header whose magic is right. */
bool section_is_file_header(const uint8_t at[WIRE_FILE_HEADER_BYTES]);

/* False if there is no section header at `at`, or a damaged one. */
bool section_take_header(const uint8_t at[WIRE_SECTION_HEADER_BYTES], struct section *s);

/* The tag as text; `out` is returned. Bytes that are not letters, digits or spaces show as '?'. */
const char *section_print_tag(uint32_t tag, char out[5]);

#endif
