/* columns.h -- which member of which structure is which column of which section.
 * Runs: offline; called by the profile writer and reader, which both walk these tables.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_COLUMNS_H
#define MIDDEN_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum column_kind {
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_I32,
	COLUMN_BOOL,
	COLUMN_BYTES,
};

struct column {
	uint8_t id;	/* in the file, wire.h */
	uint8_t coding; /* enum wire_coding that the writer uses; the reader takes what the file
			   says */
	uint8_t kind;	/* enum column_kind */
	uint8_t bytes;	/* of the member */
	uint16_t offset;
};

/* Rows live in `base` (a struct profile or a struct columns_info) at offset `place`: either
 * fixed_rows of them, or, with fixed_rows 0, a VEC of them. */
struct table {
	uint32_t tag;
	const char *name; /* for people, plural */
	const struct column *columns;
	uint32_t column_count;
	uint32_t row_bytes;
	uint32_t block_rows; /* at most, in one section */
	uint32_t fixed_rows;
	size_t place;
};

/* The INFO section. Row counts are indexed by enum columns_vec. */
enum columns_vec {
	COLUMNS_TEXT,
	COLUMNS_MODULES,
	COLUMNS_NODES,
	COLUMNS_FRAMES,
	COLUMNS_SITES,
	COLUMNS_THREADS,
	COLUMNS_POINTS,
	COLUMNS_CHANGES,
	COLUMNS_PARTS,
	COLUMNS_TRACE,
	COLUMNS_SNAPSHOTS,
	COLUMNS_INPUTS,
	COLUMNS_TAGS,
	COLUMNS_MAP_KINDS,
	COLUMNS_MAP_SITES,
	COLUMNS_LOST,
	COLUMNS_LINKS,
	COLUMNS_SURVEYS,
	COLUMNS_PINS,
	COLUMNS_CELLS,
	COLUMNS_TYPES,
	COLUMNS_EXTENTS,
	COLUMNS_VARIABLES,
	COLUMNS_DEPTHS,
	COLUMNS_VECS
};

struct columns_info {
	uint64_t rows[COLUMNS_VECS];
	bool resolved;
	bool damaged;
	char damage[sizeof(((struct profile *)0)->damage)];
};

/* The tables whose rows are in VECs, and those in place. */
extern const struct table columns_vecs[COLUMNS_VECS];
extern const struct table columns_info;
extern const struct table columns_totals;
extern const struct table columns_map_totals;
extern const struct table columns_run;
extern const struct table columns_sizes;
extern const struct table columns_lives;

/* Blocks of the trace: rows are struct trace_event, in no structure (codec_put_block). */
extern const struct table columns_events;

/* The table of a tag, INFO excepted; NULL if there is none. */
const struct table *columns_find_table(uint32_t tag);

/* A table's column, or NULL. */
const struct column *columns_find(const struct table *t, uint64_t id);

/* The rows that `base` holds. */
size_t columns_get_count(const struct table *t, const void *base);
void *columns_get_row(const struct table *t, const void *base, size_t row);

/* Sets the count of a VEC table; rows that are new are zeroed. */
void columns_set_count(const struct table *t, void *base, size_t count);

#endif
