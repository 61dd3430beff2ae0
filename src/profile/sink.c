/* sink.c -- a profile file while it is written: sections one after another, whole under its name or
 * not there at all.
 * Runs: offline; called by the writers of profiles and traces.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/special.h"
#include "base/vec.h"

#define LEVEL 3 /* of zstd: 9 gives 2 % smaller files in twice the time (docs/format.md) */

/* ---- bytes ----------------------------------------------------------------------------------- */

static void write_all(struct sink *s, const uint8_t *data, size_t bytes)
{
	while (bytes && !s->error) {
		ssize_t n = write(s->fd, data, bytes);
		if (n >= 0) {
			data += n;
			bytes -= (size_t)n;
			s->bytes += (uint64_t)n;
		} else if (errno != EINTR) {
			s->error = errno;
		}
	}
}

/* Compresses s->raw behind the room for the header. Returns the compressed bytes. */
static size_t compress(struct sink *s)
{
	size_t bound = ZSTD_compressBound(s->raw.count);

	s->stored.count = 0;
	vec_reserve(&s->stored, WIRE_SECTION_HEADER_BYTES + bound);
	if (!s->raw.count || !s->zstd)
		return 0;
	size_t n = ZSTD_compressCCtx(s->zstd, s->stored.at + WIRE_SECTION_HEADER_BYTES, bound,
				     s->raw.at, s->raw.count, s->level);
	if (!ZSTD_isError(n))
		return n;
	s->error = ENOMEM; /* with room for the bound, zstd can only have run out of memory */
	return 0;
}

void sink_write_section(struct sink *s, uint32_t tag)
{
	struct section section = {.tag = tag, .raw_bytes = (uint32_t)s->raw.count};

	section.stored_bytes = (uint32_t)compress(s);
	section.hash = section_hash(s->stored.at + WIRE_SECTION_HEADER_BYTES, section.stored_bytes);
	sink_write_stored(s, &section, s->stored.at);
	s->raw.count = 0;
}

void sink_write_stored(struct sink *s, const struct section *from, uint8_t *stored)
{
	struct section section = *from;

	section.sequence = s->sections++;
	section_put_header(stored, &section);
	write_all(s, stored, WIRE_SECTION_HEADER_BYTES + section.stored_bytes);
}

void sink_cut(struct sink *s, uint64_t bytes, uint32_t sections)
{
	if (!s->name || ftruncate(s->fd, (off_t)bytes) ||
	    lseek(s->fd, (off_t)bytes, SEEK_SET) != (off_t)bytes)
		return;
	s->error = 0;
	s->bytes = bytes;
	s->sections = sections;
}

/* ---- the path -------------------------------------------------------------------------------- */

/* A new file beside `path`, in a name of its own. */
static void open_temporary(struct sink *s, const char *path)
{
	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		char *name = mem_format("%s.partial-%ld-%u", path, (long)getpid(), attempt);
		s->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		s->error = s->fd < 0 ? errno : 0;
		if (s->fd >= 0) {
			s->name = name;
			return;
		}
		free(name);
		if (s->error != EEXIST)
			return;
	}
}

void sink_open(struct sink *s, const char *path)
{
	uint8_t header[WIRE_FILE_HEADER_BYTES];

	*s = (struct sink){.fd = -1, .level = LEVEL};
	if (special_is(path)) {
		s->fd = special_open(path);
		s->error = s->fd < 0 ? errno : 0;
	} else {
		open_temporary(s, path);
	}
	s->zstd = ZSTD_createCCtx();
	if (!s->error && !s->zstd)
		s->error = ENOMEM;
	section_put_file_header(header, WIRE_VERSION);
	write_all(s, header, sizeof(header));
}

/* The bytes must be on the disk before the name is: a rename can survive a power cut that they do
 * not. */
static void sync_file(struct sink *s)
{
	while (!s->error && fsync(s->fd)) {
		if (errno == EINVAL) /* a file system that has no such thing */
			return;
		if (errno != EINTR)
			s->error = errno;
	}
}

static void close_file(struct sink *s)
{
	/* After EINTR the descriptor is closed all the same on Linux. */
	if (s->fd >= 0 && close(s->fd) && errno != EINTR && !s->error)
		s->error = errno;
	s->fd = -1;
}

int sink_close(struct sink *s, const char *path)
{
	if (s->name)
		sync_file(s);
	close_file(s);
	if (s->name && !s->error && rename(s->name, path))
		s->error = errno;
	if (s->name && s->error)
		(void)unlink(s->name);
	free(s->name);
	s->name = NULL;
	vec_free(&s->raw);
	vec_free(&s->stored);
	ZSTD_freeCCtx(s->zstd);
	s->zstd = NULL;
	errno = s->error;
	return s->error ? -1 : 0;
}

void sink_abandon(struct sink *s)
{
	if (!s->error)
		s->error = ECANCELED;
	(void)sink_close(s, "");
}
