/* trace_store.c -- where in a file the blocks of a trace are. Runs: offline; called by the reader,
 * the writer and the cursor.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile/trace_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "profile/columns.h"

void trace_store_free(struct trace_store *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		(void)close(s->fd);
	vec_free(&s->places);
	free(s);
}

void trace_store_add(struct trace_store **s, uint64_t offset, const struct section *section)
{
	if (!*s) {
		*s = mem_new(1, sizeof(**s));
		(*s)->fd = -1;
	}
	*vec_push(&(*s)->places) = (struct trace_place){offset, *section};
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* 0, or -1 if the file has not so many bytes there. */
static int read_at(int fd, uint8_t *to, size_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t n = pread(fd, to, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		to += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* Into rows->stored, behind room for a header. */
static const char *read_stored(const struct trace_store *s, size_t i, struct trace_rows *rows)
{
	const struct trace_place *place = &s->places.at[i];
	uint32_t bytes = place->section.stored_bytes;

	if (bytes > ZSTD_compressBound(WIRE_RAW_MAX))
		return "claims to be too large";
	rows->stored.count = 0;
	vec_reserve(&rows->stored, WIRE_SECTION_HEADER_BYTES + bytes);
	uint8_t *to = rows->stored.at + WIRE_SECTION_HEADER_BYTES;
	if (read_at(s->fd, to, bytes, place->offset))
		return "cannot be read";
	return section_hash(to, bytes) == place->section.hash ? NULL : "is damaged";
}

void trace_store_copy(const struct trace_store *s, struct sink *out)
{
	struct trace_rows rows = {0};

	for (size_t i = 0; s && i < s->places.count && !out->error; i++) {
		if (read_stored(s, i, &rows))
			out->error = EIO;
		else
			sink_write_stored(out, &s->places.at[i].section, rows.stored.at);
	}
	trace_store_free_rows(&rows);
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *decompress(const struct section *s, struct trace_rows *rows)
{
	const uint8_t *stored = rows->stored.at + WIRE_SECTION_HEADER_BYTES;

	if (!s->raw_bytes || s->raw_bytes > WIRE_RAW_MAX)
		return "claims to be too large";
	if (ZSTD_getFrameContentSize(stored, s->stored_bytes) != s->raw_bytes)
		return "is not of the size it claims";
	if (!rows->zstd)
		rows->zstd = ZSTD_createDCtx();
	if (!rows->zstd)
		return "does not fit into memory";
	rows->raw.count = 0;
	vec_reserve(&rows->raw, s->raw_bytes);
	size_t n = ZSTD_decompressDCtx(rows->zstd, rows->raw.at, s->raw_bytes, stored,
				       s->stored_bytes);
	if (ZSTD_isError(n) || n != s->raw_bytes)
		return "cannot be decompressed";
	rows->raw.count = n;
	return NULL;
}

static const char *decode(struct trace_rows *rows)
{
	struct cursor c = cursor_init(rows->raw.at, rows->raw.count);
	struct codec_block block = codec_take_block(&c);

	if (c.fault)
		return c.fault;
	if (!block.count || block.count > WIRE_BLOCK_ROWS)
		return "has an impossible number of events";
	vec_reserve(&rows->events, block.count);
	memset(rows->events.at, 0, block.count * sizeof(rows->events.at[0]));
	if (codec_take_columns(&c, &columns_events, rows->events.at, block))
		return c.fault;
	rows->events.count = block.count;
	rows->first = block.first;
	return NULL;
}

const char *trace_store_read(const struct trace_store *s, size_t i, struct trace_rows *rows)
{
	rows->events.count = 0;
	const char *why = read_stored(s, i, rows);
	if (!why)
		why = decompress(&s->places.at[i].section, rows);
	return why ? why : decode(rows);
}

void trace_store_free_rows(struct trace_rows *rows)
{
	vec_free(&rows->events);
	vec_free(&rows->stored);
	vec_free(&rows->raw);
	ZSTD_freeDCtx(rows->zstd);
	rows->zstd = NULL;
}

void trace_store_reindex(struct profile *p)
{
	struct trace_rows rows = {0};
	uint64_t events = 0, ticks = 0;

	p->blocks.count = 0;
	for (size_t i = 0; p->trace && i < p->trace->places.count; i++) {
		if (trace_store_read(p->trace, i, &rows) || rows.first != events ||
		    rows.events.at[0].time_ns < ticks)
			break;
		ticks = rows.events.at[0].time_ns;
		events += rows.events.count;
		*vec_push(&p->blocks) = (struct profile_block){rows.events.count, ticks};
	}
	trace_store_free_rows(&rows);
}
