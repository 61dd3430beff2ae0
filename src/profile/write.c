/* write.c -- a profile to its file, so that a crash leaves the old file or the new one.
 * Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "format/wire.h"
#include "profile/codec.h"
#include "profile/columns.h"
#include "profile/section.h"

#define LEVEL 3 /* of zstd: 9 gives 2 % smaller files in twice the time (docs/format.md) */

struct writer {
	int fd;
	int error; /* errno of the first fault; nothing is written after it */
	uint32_t sections;
	ZSTD_CCtx *zstd;
	struct codec_buffer raw;
	struct codec_buffer stored; /* header and compressed payload, written in one go */
};

/* ---- sections -------------------------------------------------------------------------------- */

static void write_all(struct writer *w, const uint8_t *data, size_t bytes)
{
	while (bytes && !w->error) {
		ssize_t n = write(w->fd, data, bytes);
		if (n >= 0) {
			data += n;
			bytes -= (size_t)n;
		} else if (errno != EINTR) {
			w->error = errno;
		}
	}
}

/* Compresses w->raw behind the room for the header. Returns the compressed bytes. */
static size_t compress(struct writer *w)
{
	size_t bound = ZSTD_compressBound(w->raw.count);

	w->stored.count = 0;
	vec_reserve(&w->stored, WIRE_SECTION_HEADER_BYTES + bound);
	if (!w->raw.count)
		return 0;
	size_t n = ZSTD_compressCCtx(w->zstd, w->stored.at + WIRE_SECTION_HEADER_BYTES, bound,
				     w->raw.at, w->raw.count, LEVEL);
	if (!ZSTD_isError(n))
		return n;
	w->error = ENOMEM; /* with room for the bound, zstd can only have run out of memory */
	return 0;
}

/* Ends the section whose payload is in w->raw. */
static void write_section(struct writer *w, uint32_t tag)
{
	struct section s = {.tag = tag, .sequence = w->sections++};

	s.raw_bytes = (uint32_t)w->raw.count;
	s.stored_bytes = (uint32_t)compress(w);
	s.hash = section_hash(w->stored.at + WIRE_SECTION_HEADER_BYTES, s.stored_bytes);
	section_put_header(w->stored.at, &s);
	write_all(w, w->stored.at, WIRE_SECTION_HEADER_BYTES + s.stored_bytes);
	w->raw.count = 0;
}

/* Rows [first, end) in as many sections as that takes. */
static void write_rows(struct writer *w, const struct table *t, const void *base,
		       struct codec_block rows)
{
	uint64_t end = rows.first + rows.count;

	while (rows.first < end && !w->error) {
		rows.count = end - rows.first < t->block_rows ? end - rows.first : t->block_rows;
		codec_put_rows(&w->raw, t, base, rows);
		write_section(w, t->tag);
		rows.first += rows.count;
	}
}

static void write_table(struct writer *w, const struct table *t, const void *base)
{
	write_rows(w, t, base, (struct codec_block){0, columns_get_count(t, base)});
}

static void write_vec(struct writer *w, enum columns_vec which, const struct profile *p)
{
	write_table(w, &columns_vecs[which], p);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_info(struct writer *w, const struct profile *p)
{
	struct columns_info info = {.resolved = p->resolved, .damaged = p->damaged};

	for (size_t i = 0; i < COLUMNS_VECS; i++)
		info.rows[i] = columns_get_count(&columns_vecs[i], p);
	memcpy(info.damage, p->damage, sizeof(info.damage));
	write_table(w, &columns_info, &info);
}

static void raise_to(uint32_t *highest, struct string_id id)
{
	if (id.v > *highest)
		*highest = id.v;
}

/* The end of the last string that anything but a frame refers to. What comes after it are the names
 * of functions and source files: much text, and of no use before the stacks. */
static size_t find_early_text(const struct profile *p)
{
	const struct profile_run *run = &p->run;
	const struct string_id ids[] = {run->program, run->executable, run->command, run->directory,
					run->host,    run->mode,       run->machine, run->version};
	uint32_t highest = 0;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		raise_to(&highest, ids[i]);
	for (size_t i = 0; i < p->modules.count; i++)
		raise_to(&highest, p->modules.at[i].path);
	for (size_t i = 0; i < p->threads.count; i++)
		raise_to(&highest, p->threads.at[i].name);
	for (size_t i = 0; i < p->inputs.count; i++) {
		raise_to(&highest, p->inputs.at[i].name);
		raise_to(&highest, p->inputs.at[i].program);
		raise_to(&highest, p->inputs.at[i].command);
		raise_to(&highest, p->inputs.at[i].host);
	}
	if (highest >= p->strings.count)
		return p->strings.count;
	return highest + strnlen(p->strings.at + highest, p->strings.count - highest - 1) + 1;
}

/* Small and telling sections first, each before those that refer to it where that is possible: a
 * file that was cut off is good up to the cut. */
static void write_sections(struct writer *w, const struct profile *p)
{
	const struct table *text = &columns_vecs[COLUMNS_TEXT];
	size_t early = find_early_text(p);

	write_info(w, p);
	write_table(w, &columns_totals, p);
	write_rows(w, text, p, (struct codec_block){0, early});
	write_table(w, &columns_run, p);
	write_vec(w, COLUMNS_INPUTS, p);
	write_vec(w, COLUMNS_THREADS, p);
	write_table(w, &columns_sizes, p);
	write_table(w, &columns_lives, p);
	write_vec(w, COLUMNS_POINTS, p);
	write_vec(w, COLUMNS_MODULES, p);
	write_vec(w, COLUMNS_NODES, p);
	write_vec(w, COLUMNS_SITES, p);
	write_rows(w, text, p, (struct codec_block){early, p->strings.count - early});
	write_vec(w, COLUMNS_FRAMES, p);
	write_vec(w, COLUMNS_CHANGES, p);
	write_section(w, WIRE_TAG_END);
}

static void write_file(struct writer *w, const struct profile *p)
{
	uint8_t header[WIRE_FILE_HEADER_BYTES];

	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		w->error = ENOMEM;
		return;
	}
	section_put_file_header(header, WIRE_VERSION);
	write_all(w, header, sizeof(header));
	write_sections(w, p);
	vec_free(&w->raw);
	vec_free(&w->stored);
	ZSTD_freeCCtx(w->zstd);
}

/* ---- the path -------------------------------------------------------------------------------- */

static void close_writer(struct writer *w)
{
	/* After EINTR the descriptor is closed all the same on Linux. */
	if (close(w->fd) && errno != EINTR && !w->error)
		w->error = errno;
}

/* A device or a pipe stays what it is: renaming over /dev/null would replace it for everyone. */
static bool is_stream(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void write_stream(struct writer *w, const struct profile *p, const char *path)
{
	w->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (w->fd < 0) {
		w->error = errno;
		return;
	}
	write_file(w, p);
	close_writer(w);
}

/* A new file beside `path`, in a name of its own. The name, or NULL with w->error set. */
static char *open_temporary(struct writer *w, const char *path)
{
	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		char *name = mem_format("%s.partial-%ld-%u", path, (long)getpid(), attempt);
		w->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (w->fd >= 0)
			return name;
		w->error = errno;
		free(name);
		if (w->error != EEXIST)
			break;
	}
	return NULL;
}

/* The bytes must be on the disk before the name is: a rename can survive a power cut that they do
 * not. */
static void sync_file(struct writer *w)
{
	while (!w->error && fsync(w->fd)) {
		if (errno == EINVAL) /* a file system that has no such thing */
			return;
		if (errno != EINTR)
			w->error = errno;
	}
}

static void write_and_rename(struct writer *w, const struct profile *p, const char *path)
{
	char *name = open_temporary(w, path);

	if (!name)
		return;
	w->error = 0;
	write_file(w, p);
	sync_file(w);
	close_writer(w);
	if (!w->error && rename(name, path))
		w->error = errno;
	if (w->error)
		(void)unlink(name);
	free(name);
}

int profile_write(const struct profile *p, const char *path, struct error *e)
{
	struct writer w = {.fd = -1};

	if (is_stream(path))
		write_stream(&w, p, path);
	else
		write_and_rename(&w, p, path);
	if (!w.error)
		return 0;
	errno = w.error;
	return error_set_errno(e, "%s", path);
}
