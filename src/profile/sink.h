/* sink.h -- a profile file while it is written: sections one after another, whole under its name or
 * not there at all.
 * Runs: offline; called by the writers of profiles and traces.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_SINK_H
#define MIDDEN_PROFILE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "profile/codec.h"
#include "profile/section.h"

struct sink {
	int fd;
	int error;  /* errno of the first fault; nothing is written after it */
	char *name; /* of the temporary beside the path; NULL: a device or pipe, written directly */
	uint64_t bytes; /* written so far */
	uint32_t sections;
	int level; /* of zstd, for the sections to come */
	ZSTD_CCtx *zstd;
	struct codec_buffer raw;    /* the payload of the next section */
	struct codec_buffer stored; /* header and compressed payload, written in one go */
};

/* Opens the file for `path` and writes its header. A fault is in `error`; sink_close is due in any
 * case. */
void sink_open(struct sink *s, const char *path);

/* Ends the section whose payload is in s->raw. */
void sink_write_section(struct sink *s, uint32_t tag);

/* A section that is compressed already: `stored` holds room for a header and its bytes. */
void sink_write_stored(struct sink *s, const struct section *from, uint8_t *stored);

/* Cuts off what was written after the file had `bytes` bytes and `sections` sections. Forgets the
 * fault, if it can be done. */
void sink_cut(struct sink *s, uint64_t bytes, uint32_t sections);

/* Puts the file under its name if there was no fault, else removes it. 0, or -1 with errno. */
int sink_close(struct sink *s, const char *path);

/* The same for a file that nobody wants. */
void sink_abandon(struct sink *s);

#endif
