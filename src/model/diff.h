/* diff.h -- what changed between two profiles: grown, shrunk, new, gone.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_DIFF_H
#define MIDDEN_MODEL_DIFF_H

#include "model/figure.h"
#include "model/model.h"

enum diff_by { DIFF_BY_STACK, DIFF_BY_FUNCTION, DIFF_BY_LINE, DIFF_BY_MODULE, DIFF_BY_KINDS };

enum diff_status {
	DIFF_SAME,
	DIFF_GROWN,
	DIFF_SHRUNK,
	DIFF_NEW,  /* the old profile has no such stack, function, line, module */
	DIFF_GONE, /* the new one has none */
};

struct diff_request {
	enum figure figure;
	enum diff_by by;
	const bool *suppressed[2]; /* by site of a side: what leaked there does not count; NULL:
				      all counts */
};

enum { DIFF_OLD_SIDE, DIFF_NEW_SIDE };

#define DIFF_NOBODY UINT32_MAX

struct diff_row {
	enum diff_status status;
	struct amount amounts[2]; /* of stacks that end here: these add up to the whole */
	struct amount totals[2];  /* by function: of all stacks that it is on, each once */
	uint32_t subjects[2];	  /* one of what the row stands for, by side: a site (by stack) or a
				     frame; DIFF_NOBODY */
	uint32_t counts[2];	  /* how many it stands for: more than one where they cannot be told
				     apart */
};

/* Rows that changed: what grew first, the largest first; then what shrank, the largest first; by
 * function, then those that merely called what changed. */
struct diff {
	const struct model *models[2];
	enum figure figure;
	enum diff_by by;
	struct amount whole[2];	     /* sums over all stacks */
	struct amount suppressed[2]; /* leaks that do not count, whatever the figure */
	uint64_t gross;	    /* all growth and all shrinking added up, by the figure's value */
	size_t same_count;  /* rows that did not change and are not listed, ... */
	struct amount same; /* ... and what they hold */
	VEC(struct diff_row) rows;
};

/* "stack", "function", "line", "module"; DIFF_BY_KINDS for another name. */
const char *diff_by_name(enum diff_by by);
enum diff_by diff_by_find(const char *name);

/* The old and the new model must outlive the diff. Stacks pair by the names of their functions and
 * modules, in steps of growing tolerance (pathkey.h, subsequence.h); lines only tell apart what
 * these do not. What pairs with several is summed. Never NULL. */
struct diff *diff_build(const struct model *const models[2], const struct diff_request *request);
void diff_free(struct diff *d);

/* What the recorder counted on one side, less leaks that do not count. */
struct amount diff_get_total(const struct diff *d, unsigned side, enum figure f);

/* The model and frame that name a row: the new one if there is one. By function and by module the
 * frame's line has no meaning. */
unsigned diff_get_side(const struct diff_row *row);

/* Positive where `now` is larger. The difference of two sums of sizes: what a 64-bit machine can
 * hold fits. */
static inline int64_t diff_change(uint64_t before, uint64_t now)
{
	return (int64_t)(now - before);
}

static inline uint64_t diff_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The change of a row by the figure's value; of its totals if they are all that changed. */
int64_t diff_get_change(const struct diff *d, const struct diff_row *row);

/* Where bytes are the same the number of blocks tells, and the other way round. */
bool diff_has_grown(const struct diff *d, const struct diff_row *row);

/* True for rows whose own amounts did not change, only those of functions that they called. */
bool diff_is_caller(const struct diff_row *row);

#endif
