/* findings.h -- what a reader of the profile should look at: habits that cost time or memory, with
 * the numbers that show them. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A finding is about a place in the program's own code: all stacks whose first frame that is not
 * the language's is the same. The limits (findings.c) are meant to keep quiet about programs in
 * which nothing would be gained. */
#ifndef MIDDEN_MODEL_FINDINGS_H
#define MIDDEN_MODEL_FINDINGS_H

#include "model/figure.h"
#include "model/model.h"

enum finding_kind {
	FINDING_GROWING_LEAK, /* not freed, and more of it all the time */
	FINDING_TEMPORARY,    /* allocated and freed again at once, many times */
	FINDING_REGROWN,      /* blocks made larger step by step */
	FINDING_TINY,	      /* many small blocks of one size */
	FINDING_LEFT_BEHIND,  /* large blocks alive long after those made with them were freed */
	FINDING_KINDS
};

/* Members that a kind has no use for are 0. */
struct finding {
	enum finding_kind kind;
	size_t site;	      /* the one of its stacks with the largest part */
	size_t sites;	      /* its stacks */
	struct amount amount; /* growing leak: leaked; tiny: held at the peak; left behind: held;
				   otherwise allocated there */
	uint64_t calls;	      /* temporary, regrown: calls that need not be */
	uint64_t size_min;    /* of its blocks */
	uint64_t size_max;
	uint64_t saved_bytes; /* memory that would not be needed, or bytes not copied (regrown) */
	uint64_t since_ns;    /* growing leak: began to grow; left behind: has been alone */
	uint64_t span_ns;     /* and for how long */
	uint64_t quarters[4]; /* growing leak: bytes after each quarter of the recording */
	uint64_t freed;	      /* left behind: blocks of the same stack that were freed */
	double weight;	      /* share of the program's calls or peak, 0 to 1: the order */
};

struct findings {
	VEC(struct finding) list;  /* what matters most first */
	struct amount other_leaks; /* leaked, and not growing */
	bool has_time_line;	   /* false: too short a recording to see what grows */
};

/* `verdicts` (enum filter_verdict by site) may be NULL: all sites. Suppressed leaks are not looked
 * at as leaks. Never NULL. */
struct findings *findings_build(const struct model *m, const uint8_t *verdicts);
void findings_free(struct findings *f);

/* "growing-leak", "temporary", ...: the name in JSON. */
const char *findings_get_name(enum finding_kind kind);

#endif
