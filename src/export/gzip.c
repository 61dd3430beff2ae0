/* gzip.c -- a stream compressed on its way into a file. Runs: offline, called by the formats that
 * need it and by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie */
#define ZLIB_CONST  /* what goes in is not changed */
#include "export/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"

#define GZIP_HEADER   16 /* added to the window's bits, it asks deflate for a gzip header */
#define WINDOW_BITS   15
#define MEMORY_LEVEL  8
#define PIECE_BYTES   ((size_t)1 << 16)
#define INPUT_AT_ONCE ((size_t)1 << 30) /* zlib counts in unsigned int */

struct gzip {
	FILE *out;
	z_stream stream;
	uint8_t piece[PIECE_BYTES];
};

/* zlib's own memory, without a case in which there is none. */
static void *allocate(void *opaque, unsigned count, unsigned size)
{
	(void)opaque;
	return mem_new(count, size);
}

static void release(void *opaque, void *block)
{
	(void)opaque;
	free(block);
}

/* With memory that never runs out and constant settings, deflateInit2 has no reason to fail. */
struct gzip *gzip_new(FILE *out)
{
	struct gzip *z = mem_new(1, sizeof(*z));

	z->out = out;
	z->stream.zalloc = allocate;
	z->stream.zfree = release;
	(void)deflateInit2(&z->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP_HEADER,
			   MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
	return z;
}

static void pump(struct gzip *z, int flush)
{
	do {
		z->stream.next_out = z->piece;
		z->stream.avail_out = (unsigned)PIECE_BYTES;
		(void)deflate(&z->stream, flush);
		fwrite(z->piece, 1, PIECE_BYTES - z->stream.avail_out, z->out);
	} while (z->stream.avail_out == 0);
}

void gzip_write(struct gzip *z, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	while (count > 0) {
		size_t now = count < INPUT_AT_ONCE ? count : INPUT_AT_ONCE;
		z->stream.next_in = at;
		z->stream.avail_in = (unsigned)now;
		pump(z, Z_NO_FLUSH);
		at += now;
		count -= now;
	}
}

void gzip_free(struct gzip *z)
{
	z->stream.avail_in = 0;
	pump(z, Z_FINISH);
	(void)deflateEnd(&z->stream);
	free(z);
}

static ssize_t take(void *cookie, const char *bytes, size_t count)
{
	gzip_write(cookie, bytes, count);
	return (ssize_t)count;
}

static int finish(void *cookie)
{
	gzip_free(cookie);
	return 0;
}

FILE *gzip_open(FILE *out)
{
	const cookie_io_functions_t functions = {.write = take, .close = finish};
	struct gzip *z = gzip_new(out);
	FILE *stream = fopencookie(z, "w", functions);

	if (!stream)
		gzip_free(z);
	return stream;
}
