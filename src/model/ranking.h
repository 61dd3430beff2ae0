/* ranking.h -- which functions or stacks hold the most, grow most, allocate most: the rows of a
 * table that is renewed while a program runs. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_RANKING_H
#define MIDDEN_MODEL_RANKING_H

#include "model/figure.h"
#include "model/model.h"

enum ranking_key {
	RANKING_LIVE,	/* bytes */
	RANKING_BLOCKS, /* live */
	RANKING_GROWTH, /* of live bytes, since the mark */
	RANKING_CALLS,	/* allocations since the state before */
	RANKING_BYTES,	/* allocated since the state before */
	RANKING_KEYS
};

/* "live", "blocks", "growth", "calls", "bytes". */
const char *ranking_name(enum ranking_key key);

/* The key of that name; RANKING_KEYS if there is none. */
enum ranking_key ranking_find(const char *name);

/* The figures of an earlier state of the same recording. Zero-initialised: its very start. */
struct ranking_base {
	struct profile_site *sites; /* a site keeps its number while a recording goes on */
	size_t count;
	uint64_t time_ns;
	uint64_t start_unix_ns; /* of the recording */
	struct profile_totals totals;
};

/* Notes a profile's figures in place of those that `b` has. */
void ranking_note(struct ranking_base *b, const struct profile *p);
void ranking_base_free(struct ranking_base *b);

struct ranking_figures {
	struct amount live;
	int64_t growth_bytes;
	struct amount allocated; /* since the state before */
};

struct ranking_row {
	uint32_t frame;	    /* the allocating function */
	uint32_t site;	    /* of its stacks, the first by the key */
	int64_t best_value; /* of that one */
	size_t stacks;
	struct ranking_figures figures;
};

struct ranking_request {
	const struct model *model;
	const struct ranking_base *mark;   /* growth is counted from here */
	const struct ranking_base *before; /* rates are */
	enum ranking_key key;
	bool by_stack;	    /* a row for each stack, not for each function */
	const char *filter; /* a part of a function's name, in any case, anywhere on a stack; ""
			       takes all */
};

/* The rows by the key, the largest first. */
struct ranking {
	struct ranking_figures whole; /* of the program as it was counted, filter or not */
	uint64_t span_ns;	      /* from the state before to this one */
	VEC(struct ranking_row) rows;
};

/* A base of another recording counts as the start of this one. */
void ranking_build(struct ranking *r, const struct ranking_request *request);
void ranking_free(struct ranking *r);

/* The stacks of the function that this site belongs to, each as a row. */
void ranking_build_stacks(struct ranking *r, const struct ranking_request *request, uint32_t site);

#endif
