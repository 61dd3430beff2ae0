/* read.c -- a profile from its file, whose bytes are taken to be hostile.
 * Runs: offline.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No size that the file claims is believed before it is checked against a limit; a section counts
 * as a whole or not at all; what depends on a lost one is dropped; profile_check has the last word.
 */
#define _GNU_SOURCE
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "format/wire.h"
#include "profile/codec.h"
#include "profile/columns.h"
#include "profile/recover.h"
#include "profile/section.h"
#include "profile/trace_store.h"

struct reader {
	const uint8_t *data;
	size_t bytes;
	size_t at;	   /* everything before it is done with */
	uint32_t sequence; /* of the section that should come next */
	uint64_t budget;   /* decoded bytes that the rest may still take */
	uint32_t figures;  /* sections read that have something to show */
	bool ended;	   /* the END section was there */
	bool damaged;
	char damage[128]; /* the first one */
	struct profile *p;
	int fd; /* of the same bytes, for the trace; -1: there is none */
	struct columns_info info;
	struct codec_buffer raw;
	ZSTD_DCtx *zstd;
	struct error *e;
};

/* Notes the first damage only: the others mostly follow from it. */
static void note_damage(struct reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void note_damage(struct reader *r, const char *format, ...)
{
	va_list args;

	if (r->damaged)
		return;
	r->damaged = true;
	va_start(args, format);
	(void)vsnprintf(r->damage, sizeof(r->damage), format, args);
	va_end(args);
}

/* ---- one section ----------------------------------------------------------------------------- */

static bool take_budget(struct reader *r, uint64_t bytes)
{
	if (bytes > r->budget)
		return false;
	r->budget -= bytes;
	return true;
}

/* Decompresses into r->raw. The frame must say the same size as the header, and the size must be
 * within the limits, before anything is allocated. NULL, or why it failed. */
static const char *decompress(struct reader *r, const struct section *s, const uint8_t *stored)
{
	if (!s->stored_bytes || !s->raw_bytes)
		return "has no data";
	if (s->raw_bytes > WIRE_RAW_MAX || !take_budget(r, s->raw_bytes))
		return "claims to be too large";
	if (ZSTD_getFrameContentSize(stored, s->stored_bytes) != s->raw_bytes)
		return "is not of the size it claims";
	r->raw.count = 0;
	vec_reserve(&r->raw, s->raw_bytes);
	size_t n = ZSTD_decompressDCtx(r->zstd, r->raw.at, s->raw_bytes, stored, s->stored_bytes);
	if (ZSTD_isError(n) || n != s->raw_bytes)
		return "cannot be decompressed";
	r->raw.count = n;
	return NULL;
}

/* NULL, or why there must not be room for these rows. */
static const char *check_block(struct reader *r, const struct table *t, const void *base,
			       struct codec_block block)
{
	if (!block.count || block.count > t->block_rows)
		return "has an impossible number of rows";
	if (t->fixed_rows)
		return block.first || block.count > t->fixed_rows ? "has rows too many" : NULL;
	if (block.first != columns_get_count(t, base))
		return "follows a missing one";
	if (block.first + block.count > UINT32_MAX || !take_budget(r, block.count * t->row_bytes))
		return "claims to be too large";
	return NULL;
}

/* Zeroed rows for the block, or none of them again. */
static void set_rows(const struct table *t, void *base, size_t count)
{
	if (t->fixed_rows)
		memset(columns_get_row(t, base, 0), 0, (size_t)t->fixed_rows * t->row_bytes);
	else
		columns_set_count(t, base, count);
}

/* Takes r->raw as rows of `t`. NULL, or why it failed; `base` then has none of them. */
static const char *take_rows(struct reader *r, const struct table *t, void *base)
{
	struct cursor c = cursor_init(r->raw.at, r->raw.count);
	struct codec_block block = codec_take_block(&c);
	const char *why = c.fault ? c.fault : check_block(r, t, base, block);

	if (why)
		return why;
	set_rows(t, base, block.first + block.count);
	if (!codec_take_rows(&c, t, base, block))
		return NULL;
	set_rows(t, base, block.first);
	return c.fault;
}

static int skip_unknown(struct reader *r, const struct section *s)
{
	char tag[5];

	if (!(s->flags & WIRE_FLAG_REQUIRED))
		return 0;
	return error_set_at(r->e, (int64_t)r->at, "section %s needs a newer midden",
			    section_print_tag(s->tag, tag));
}

/* The section at r->at, whose stored bytes are there and intact. -1 if the file must be refused. */
static int take_section(struct reader *r, const struct section *s, const uint8_t *stored)
{
	bool info = s->tag == WIRE_TAG_INFO;
	const struct table *t = info ? &columns_info : columns_find_table(s->tag);
	char tag[5];

	if (s->flags & ~(uint32_t)WIRE_FLAG_REQUIRED)
		return skip_unknown(r, s);
	if (s->tag == WIRE_TAG_END) {
		r->ended = true;
		return 0;
	}
	if (s->tag == WIRE_TAG_TRACE) {
		trace_store_add(&r->p->trace, r->at + WIRE_SECTION_HEADER_BYTES, s);
		r->figures++;
		return 0;
	}
	if (!t)
		return skip_unknown(r, s);
	const char *why = decompress(r, s, stored);
	if (!why)
		why = take_rows(r, t, info ? (void *)&r->info : (void *)r->p);
	if (why)
		note_damage(r, "byte %zu: section %s %s", r->at, section_print_tag(s->tag, tag),
			    why);
	else if (!info && t != &columns_vecs[COLUMNS_TEXT])
		r->figures++;
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* NULL if the section's bytes are all there and as they were written, else what is wrong. Hashing
 * is paid for from the budget: headers that all claim the same bytes would make it quadratic. */
static const char *check_stored(struct reader *r, const struct section *s, size_t at)
{
	if (s->stored_bytes > r->bytes - at)
		return "is cut off";
	if (s->tag == WIRE_TAG_TRACE) /* need not be in memory: checked where it is used */
		return NULL;
	if (!take_budget(r, s->stored_bytes))
		return "claims to be too large";
	return section_hash(r->data + at, s->stored_bytes) == s->hash ? NULL : "is damaged";
}

/* Finds the next section. Its stored bytes, or NULL if there is none or it has to be left out;
 * r->at is then where to look on. */
static const uint8_t *next_section(struct reader *r, struct section *s)
{
	size_t found = recover_find_section(r->data, r->bytes, r->at, r->sequence, s);
	char tag[5];

	if (found == r->bytes) {
		note_damage(r, "cut off or damaged from byte %zu", r->at);
		r->at = r->bytes;
		return NULL;
	}
	if (found != r->at || s->sequence != r->sequence)
		note_damage(r, "damaged at byte %zu", r->at);
	r->sequence = s->sequence + 1;
	r->at = found;

	size_t stored = found + WIRE_SECTION_HEADER_BYTES;
	const char *why = check_stored(r, s, stored);
	if (!why)
		return r->data + stored;
	note_damage(r, "byte %zu: section %s %s", found, section_print_tag(s->tag, tag), why);
	r->at = stored;
	return NULL;
}

static int take_sections(struct reader *r)
{
	while (!r->ended && r->at < r->bytes) {
		struct section s;
		const uint8_t *stored = next_section(r, &s);

		if (!stored)
			continue;
		if (take_section(r, &s, stored))
			return -1;
		r->at += WIRE_SECTION_HEADER_BYTES + s.stored_bytes;
	}
	if (!r->ended)
		note_damage(r, "cut off at byte %zu", r->bytes);
	return 0;
}

static bool has_magic(const void *data, size_t bytes)
{
	return memcmp(data, section_magic, bytes < WIRE_MAGIC_BYTES ? bytes : WIRE_MAGIC_BYTES) ==
	       0;
}

static int take_file_header(struct reader *r)
{
	if (!r->bytes)
		return error_set(r->e, "empty file, not a midden profile");
	if (!has_magic(r->data, r->bytes))
		return error_set_at(r->e, 0, "not a midden profile");
	if (r->bytes < WIRE_FILE_HEADER_BYTES)
		return error_set_at(r->e, (int64_t)r->bytes, "cut off in the file header");

	uint32_t version = wire_get_u32(r->data + WIRE_FILE_VERSION);
	r->at = WIRE_FILE_HEADER_BYTES;
	if (!section_is_file_header(r->data))
		note_damage(r,
			    "damaged at byte 0"); /* the version too: the sections have to tell */
	else if (version > WIRE_VERSION)
		return error_set_at(r->e, WIRE_FILE_VERSION,
				    "written by a newer midden (format %" PRIu32
				    ", this one reads up to %u)",
				    version, WIRE_VERSION);
	else if (!version)
		return error_set_at(r->e, WIRE_FILE_VERSION, "format 0 does not exist");
	return 0;
}

/* Names are looked up anew from the object files if some got lost. */
static bool has_names(const struct reader *r)
{
	return r->p->frames.count >= r->info.rows[COLUMNS_FRAMES] &&
	       r->p->strings.count >= r->info.rows[COLUMNS_TEXT];
}

static void take_info(struct reader *r)
{
	struct profile *p = r->p;

	p->resolved = r->info.resolved && has_names(r);
	p->damaged = r->info.damaged;
	memcpy(p->damage, r->info.damage, sizeof(p->damage));
	p->damage[sizeof(p->damage) - 1] = 0;
}

/* A store without a file of its own gets one: what was read may be gone when it is needed. */
static void open_store(struct reader *r)
{
	struct trace_store *s = r->p->trace;
	const uint8_t *at = r->data;
	size_t left = r->bytes;

	if (!s)
		return;
	s->fd = r->fd >= 0 ? fcntl(r->fd, F_DUPFD_CLOEXEC, 3) : memfd_create("trace", MFD_CLOEXEC);
	while (r->fd < 0 && s->fd >= 0 && left) {
		ssize_t n = write(s->fd, at, left);
		if (n <= 0)
			break;
		at += n;
		left -= (size_t)n;
	}
}

/* The index comes after the blocks: a file that was cut off has the blocks alone. */
static void finish_trace(struct reader *r)
{
	struct profile *p = r->p;
	size_t stored = p->trace ? p->trace->places.count : 0;

	open_store(r);
	if (p->blocks.count == stored)
		return;
	note_damage(r, "%zu of %zu trace blocks are there", stored, p->blocks.count);
	trace_store_reindex(p);
}

static int finish(struct reader *r)
{
	struct profile *p = r->p;

	if (!r->figures)
		return error_set_at(r->e, (int64_t)r->bytes, "nothing usable in it: %s",
				    r->damaged ? r->damage : "it has no sections");
	take_info(r);
	finish_trace(r);
	if (recover_is_short(p, &r->info))
		note_damage(r, "incomplete");
	if (r->damaged) {
		p->damaged = true;
		recover_print_losses(p, &r->info, r->damage, sizeof(r->damage));
		memcpy(p->damage, r->damage, sizeof(p->damage));
	}
	recover_complete(p);
	if (r->damaged)
		recover_trim(p);
	return profile_check(p, r->e);
}

static void drop_rows(struct profile *p)
{
	for (size_t i = 0; i < COLUMNS_VECS; i++)
		columns_set_count(&columns_vecs[i], p, 0);
}

static struct profile *parse(const void *data, size_t bytes, int fd, struct error *e)
{
	struct reader r = {.data = data, .bytes = bytes, .fd = fd, .e = e};

	r.budget = WIRE_BUDGET_BASE + (uint64_t)bytes * WIRE_BUDGET_RATE;
	if (take_file_header(&r))
		return NULL;
	r.zstd = ZSTD_createDCtx();
	if (!r.zstd) {
		error_set(e, "out of memory");
		return NULL;
	}
	r.p = profile_new();
	drop_rows(r.p);
	if (take_sections(&r) || finish(&r)) {
		profile_free(r.p);
		r.p = NULL;
	}
	ZSTD_freeDCtx(r.zstd);
	vec_free(&r.raw);
	return r.p;
}

struct profile *profile_parse(const void *data, size_t bytes, struct error *e)
{
	return parse(data, bytes, -1, e);
}

/* ---- the path -------------------------------------------------------------------------------- */

#define READ_STEP (1u << 20)

/* Reads to the end of what is no regular file. Stops early where the bytes cannot be a profile; the
 * parser says so then. */
static int read_all(int fd, struct codec_buffer *out)
{
	for (;;) {
		vec_reserve(out, READ_STEP);
		ssize_t n = read(fd, out->at + out->count, out->room - out->count);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		out->count += (size_t)n;
		if (!has_magic(out->at, out->count))
			return 0;
		if (out->count > WIRE_FILE_MAX) {
			errno = EFBIG;
			return -1;
		}
	}
}

static struct profile *read_stream(int fd, struct error *e)
{
	struct profile *p = NULL;
	struct codec_buffer data = {0};

	if (read_all(fd, &data))
		error_set(e, "%s", strerror(errno));
	else
		p = parse(data.at, data.count, -1, e);
	vec_free(&data);
	return p;
}

/* A regular file goes into an image of its size, where the trace is left out: pages that are not
 * touched cost nothing. Not mapped itself: a file that shrinks under a mapping kills its reader. */
struct image {
	uint8_t *at;
	size_t bytes;
	uint64_t loaded;
};

/* 0, or -1 with errno. A file that is shorter by now ends there. */
static int load(struct image *i, int fd, size_t from, size_t bytes)
{
	i->loaded += bytes;
	if (i->loaded > WIRE_FILE_MAX) {
		errno = EFBIG;
		return -1;
	}
	while (bytes) {
		ssize_t n = pread(fd, i->at + from, bytes, (off_t)from);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0) {
			i->bytes = from;
			return 0;
		}
		from += n > 0 ? (size_t)n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* From header to header; where there is none, the parser has to see all that is left. */
static int load_sections(struct image *i, int fd, size_t at)
{
	while (i->bytes > at && i->bytes - at >= WIRE_SECTION_HEADER_BYTES) {
		struct section s;

		if (load(i, fd, at, WIRE_SECTION_HEADER_BYTES))
			return -1;
		size_t stored = at + WIRE_SECTION_HEADER_BYTES;
		if (i->bytes < stored || !section_take_header(i->at + at, &s) ||
		    s.stored_bytes > i->bytes - stored)
			break;
		if (s.tag != WIRE_TAG_TRACE && load(i, fd, stored, s.stored_bytes))
			return -1;
		at = stored + s.stored_bytes;
	}
	return i->bytes > at ? load(i, fd, at, i->bytes - at) : 0;
}

static int load_image(struct image *i, int fd)
{
	size_t head = i->bytes < WIRE_FILE_HEADER_BYTES ? i->bytes : WIRE_FILE_HEADER_BYTES;

	if (load(i, fd, 0, head))
		return -1;
	return has_magic(i->at, head) ? load_sections(i, fd, head) : 0;
}

static struct profile *read_file(int fd, uint64_t bytes, struct error *e)
{
	struct image i = {.bytes = (size_t)bytes};
	struct profile *p = NULL;

	if (bytes > WIRE_TRACED_MAX)
		errno = EFBIG;
	else
		i.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!i.at || i.at == MAP_FAILED) {
		error_set(e, "%s", strerror(errno));
		return NULL;
	}
	if (load_image(&i, fd))
		error_set(e, "%s", strerror(errno));
	else
		p = parse(i.at, i.bytes, fd, e);
	(void)munmap(i.at, bytes);
	return p;
}

struct profile *profile_read(const char *path, struct error *e)
{
	struct profile *p = NULL;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		error_set(e, "%s", strerror(errno));
	else if (S_ISREG(st.st_mode) && st.st_size > 0)
		p = read_file(fd, (uint64_t)st.st_size, e);
	else
		p = read_stream(fd, e);
	if (fd >= 0)
		(void)close(fd);
	return p;
}
