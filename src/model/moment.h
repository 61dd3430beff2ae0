/* moment.h -- a time in a recording, and what was live then. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A profile keeps the state of every site at a few hundred points in time, at the peak and at
 * snapshots. What is asked for another time is reckoned from the trace, or gets the last of these
 * states at or before it if there is none. */
#ifndef MIDDEN_MODEL_MOMENT_H
#define MIDDEN_MODEL_MOMENT_H

#include <stddef.h>

#include "base/error.h"
#include "model/figure.h"

enum moment_kind {
	MOMENT_START,  /* before the first point: nothing was live */
	MOMENT_POINT,  /* a point of the time line */
	MOMENT_PEAK,   /* the exact moment of the peak */
	MOMENT_TRACED, /* any moment, exactly */
};

struct moment {
	enum moment_kind kind;
	uint64_t asked_ns;   /* what the user named */
	uint64_t time_ns;    /* of the state that stands for it */
	size_t point;	     /* MOMENT_POINT: its index */
	size_t snapshot;     /* MOMENT_POINT: the snapshot that made it, from 1; 0: none */
	struct amount total; /* MOMENT_TRACED */
};

/* A time as a user names it. */
struct moment_name {
	enum moment_named {
		MOMENT_AT_NS,	   /* `value` ns after the start */
		MOMENT_AT_PERCENT, /* `value` percent of the recording */
		MOMENT_AT_START,
		MOMENT_AT_PEAK,
		MOMENT_AT_END,
		MOMENT_AT_SNAPSHOT, /* called `text`, which is not copied */
	} kind;
	double value;
	const char *text;
	size_t text_bytes; /* of it; 0: up to its end */
	bool is_bare;	   /* it stood alone, and may have been meant for a time */
};

#define MOMENT_SNAPSHOT "@snapshot:"

/* Reads "1.5s", "200ms", "3min", "50%" (of the recording), "@start", "@peak", "@end" or
 * "@snapshot:NAME", or such a name alone if it does not begin like one of the others; a number
 * alone is seconds. 0, or -1 with `e`. */
int moment_parse(const char *text, struct moment_name *name, struct error *e);

/* The same for "T1..T2". Without T1 it is the start, without T2 the end. */
int moment_parse_span(const char *text, struct moment_name names[2], struct error *e);

/* Whether a damaged file has lost what each site had live over time, so that nothing can be told of
 * any time but the peak and the end. */
bool moment_has_lost_stacks(const struct profile *p);

/* Finds the state that stands for a time. 0, or -1 with `e` if the profile has no time line. */
int moment_find(const struct profile *p, const struct moment_name *name, struct moment *m,
		struct error *e);

/* Puts what each site had live then into `amounts`, one for each site. */
void moment_fill(const struct profile *p, const struct moment *m, struct amount *amounts);

/* What the recorder counted for the whole program then. */
struct amount moment_get_total(const struct profile *p, const struct moment *m);

#endif
