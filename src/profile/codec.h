/* codec.h -- rows of a table to and from a section's payload.
 * Runs: offline; called by writer and reader.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_CODEC_H
#define MIDDEN_PROFILE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "profile/columns.h"
#include "profile/cursor.h"

/* Bytes that grow: a VEC with a name, so that it can be handed around. */
struct codec_buffer {
	uint8_t *at;
	size_t count;
	size_t room;
};

struct codec_block {
	uint64_t first; /* row number in the table */
	uint64_t count;
};

void codec_put_varint(struct codec_buffer *out, uint64_t value);

/* Appends the payload that holds rows [first, first + count) of `t` in `base`. */
void codec_put_rows(struct codec_buffer *out, const struct table *t, const void *base,
		    struct codec_block block);

/* The same where the block's first row is at `rows`. */
void codec_put_block(struct codec_buffer *out, const struct table *t, void *rows,
		     struct codec_block block);

/* The head of a payload. Not to be trusted: the caller checks it before it makes room. */
struct codec_block codec_take_block(struct cursor *c);

/* The columns behind the head, into `base`, where the block's rows are in place and zeroed. Column
 * values are checked to fit their members, nothing more. 0, or -1 with the cursor's fault set. */
int codec_take_rows(struct cursor *c, const struct table *t, void *base, struct codec_block block);

/* The same where the block's first row is at `rows`. */
int codec_take_columns(struct cursor *c, const struct table *t, void *rows,
		       struct codec_block block);

#endif
