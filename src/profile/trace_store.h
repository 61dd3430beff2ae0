/* trace_store.h -- where in a file the blocks of a trace are. Runs: offline; called by the reader,
 * the writer and the cursor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_TRACE_STORE_H
#define MIDDEN_PROFILE_TRACE_STORE_H

#include <stdint.h>

#include "base/vec.h"
#include "profile/codec.h"
#include "profile/section.h"
#include "profile/sink.h"
#include "profile/trace.h"

struct trace_place {
	uint64_t offset; /* of the stored bytes */
	struct section section;
};

/* Owns `fd`, through which the file stays readable when its name goes to another one. */
struct trace_store {
	int fd; /* -1: not to be had */
	VEC(struct trace_place) places;
};

/* One block, decoded. Zero-initialise; free with trace_store_free_block. */
struct trace_rows {
	VEC(struct trace_event) events; /* time_ns holds ticks */
	uint64_t first;			/* number of the first one */
	struct codec_buffer stored;
	struct codec_buffer raw;
	ZSTD_DCtx *zstd;
};

/* NULL may be freed. */
void trace_store_free(struct trace_store *s);

/* Enters a section that was found; makes the store if `*s` is NULL. */
void trace_store_add(struct trace_store **s, uint64_t offset, const struct section *section);

/* Reads block `i` and checks its bytes and its form; what the events refer to is the caller's
 * matter. NULL, or why it failed; `rows` is then empty. */
const char *trace_store_read(const struct trace_store *s, size_t i, struct trace_rows *rows);
void trace_store_free_rows(struct trace_rows *rows);

/* Copies all blocks. NULL: none. */
void trace_store_copy(const struct trace_store *s, struct sink *out);

/* Makes the index from the blocks themselves, up to the first that is damaged: for a file whose
 * index was lost. */
void trace_store_reindex(struct profile *p);

#endif
