/* fuzz_profile.c -- hostile profile files.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An input that begins with the file's magic is taken as it is. Any other is a list of payloads,
 * each {u8 section, u16 bytes, payload}, which are compressed, given headers with good checksums
 * and put into a file: checksums would otherwise keep the fuzzer out of the codec for ever. The low
 * bits of `section` choose the tag; bit 7 damages the section, so that recovery is tried too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/vec.h"
#include "format/wire.h"
#include "profile/codec.h"
#include "profile/profile.h"
#include "profile/section.h"
#include "profile/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const uint32_t tags[] = {
	WIRE_TAG_INFO,	    WIRE_TAG_TOTALS,	WIRE_TAG_TEXT,	     WIRE_TAG_RUN,
	WIRE_TAG_THREADS,   WIRE_TAG_SIZES,	WIRE_TAG_LIVES,	     WIRE_TAG_POINTS,
	WIRE_TAG_NODES,	    WIRE_TAG_MODULES,	WIRE_TAG_FRAMES,     WIRE_TAG_SITES,
	WIRE_TAG_CHANGES,   WIRE_TAG_END,	WIRE_TAG_PARTS,	     WIRE_TAG_TRACE,
	WIRE_TAG_INDEX,	    WIRE_TAG_SNAPSHOTS, WIRE_TAG_INPUTS,     WIRE_TAG_TAGS,
	WIRE_TAG_LOST,	    WIRE_TAG_LINKS,	WIRE_TAG_MAP_TOTALS, WIRE_TAG_MAP_KINDS,
	WIRE_TAG_MAP_SITES, WIRE_TAG_SURVEYS,	WIRE_TAG_PINS,	     WIRE_TAG_CELLS,
	WIRE_TAG_EXTENTS,   WIRE_TAG_VARIABLES, WIRE_TAG_DEPTHS,     WIRE_TAG_TYPES,
};

#define DAMAGE 0x80u

static void add_section(struct codec_buffer *out, uint32_t sequence, unsigned which,
			struct cursor payload)
{
	struct section s = {.sequence = sequence};
	size_t bytes = cursor_get_left(&payload);
	size_t room = ZSTD_compressBound(bytes);

	vec_reserve(out, WIRE_SECTION_HEADER_BYTES + room);
	uint8_t *header = out->at + out->count;
	uint8_t *stored = header + WIRE_SECTION_HEADER_BYTES;
	s.tag = tags[(which & ~DAMAGE) % (sizeof(tags) / sizeof(tags[0]))];
	s.raw_bytes = (uint32_t)bytes;
	s.stored_bytes = (uint32_t)ZSTD_compress(stored, room, payload.at, bytes, 1);
	s.hash = section_hash(stored, s.stored_bytes) ^ (which & DAMAGE);
	section_put_header(header, &s);
	out->count += WIRE_SECTION_HEADER_BYTES + s.stored_bytes;
}

static struct codec_buffer build_file(const uint8_t *data, size_t bytes)
{
	struct codec_buffer out = {0};
	struct cursor c = cursor_init(data, bytes);

	vec_reserve(&out, WIRE_FILE_HEADER_BYTES);
	section_put_file_header(out.at, WIRE_VERSION);
	out.count = WIRE_FILE_HEADER_BYTES;
	for (uint32_t sequence = 0; cursor_get_left(&c) >= 3; sequence++) {
		const uint8_t *head = cursor_take_bytes(&c, 3);
		size_t length = (size_t)(head[1] | head[2] << 8);
		if (length > cursor_get_left(&c))
			length = cursor_get_left(&c);
		add_section(&out, sequence, head[0],
			    cursor_init(cursor_take_bytes(&c, length), length));
	}
	return out;
}

/* The cursor has its own checks: what it gives can be used without asking. */
static void walk(const struct profile *p)
{
	struct trace_cursor *c = trace_cursor_new(p);
	const struct trace_event *event;
	uint64_t before_ns = 0;

	trace_cursor_seek_time(c, 1000);
	trace_cursor_seek(c, 1);
	while ((event = trace_cursor_next(c))) {
		if (event->site >= p->sites.count || event->time_ns < before_ns)
			abort();
		before_ns = event->time_ns;
	}
	trace_cursor_free(c);
}

/* What the reader lets through must be sound. */
static void parse(const uint8_t *data, size_t bytes)
{
	struct error e = {0};
	struct profile *p = profile_parse(data, bytes, &e);

	if (p ? profile_check(p, &e) != 0 : !e.set)
		abort();
	if (p) {
		profile_add_string(p, "walks all strings");
		walk(p);
	}
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes >= WIRE_MAGIC_BYTES && memcmp(data, section_magic, WIRE_MAGIC_BYTES) == 0) {
		parse(data, bytes);
		return 0;
	}
	struct codec_buffer file = build_file(data, bytes);
	parse(file.at, file.count);
	vec_free(&file);
	return 0;
}
