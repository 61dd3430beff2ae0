/* remap.h -- the strings, modules, frames and stack nodes of one profile in the numbers of another.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_REMAP_H
#define MIDDEN_MODEL_REMAP_H

#include "base/map.h"
#include "profile/profile.h"

/* What the profile that is added to has, for finding it again. Zero-initialise, set `to`. Pairs of
 * numbers have a number of their own, so that any number of them makes an exact key. */
struct remap {
	struct profile *to;
	struct map modules; /* hash of path and build-id -> module */
	struct map names;   /* function, file -> n */
	struct map lines;   /* n, line -> n */
	struct map owners;  /* n, module -> n */
	struct map frames;  /* n, next -> frame */
	struct map offsets; /* address -> n */
	struct map places;  /* n, module and flags -> n */
	struct map symbols; /* n, frames -> n */
	struct map kinds;   /* n, kind of a named frame -> n */
	struct map nodes;   /* parent, n -> node */
	uint32_t numbers;   /* given out to pairs */
};

/* The numbers of one profile's elements in the other. */
struct remap_table {
	struct map strings; /* id -> id, plus one */
	uint32_t *nodes;
	uint32_t *modules;
};

/* Adds what `from` has and the other profile has not. */
void remap_add(struct remap *r, const struct profile *from, struct remap_table *table);

/* The id of a string of `from`. */
struct string_id remap_string(struct remap *r, const struct profile *from,
			      struct remap_table *table, struct string_id id);

void remap_table_fini(struct remap_table *table);
void remap_fini(struct remap *r);

#endif
