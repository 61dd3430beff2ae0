/* filter.h -- which of a profile's stacks a reader wants to see. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stack is taken as a whole or not at all, and every stack that is not taken has a reason, so
 * that whoever prints can say what is missing and why. */
#ifndef MIDDEN_MODEL_FILTER_H
#define MIDDEN_MODEL_FILTER_H

#include "model/model.h"
#include "model/pattern.h"

/* Zero-initialise: everything passes. */
struct filter {
	struct pattern_list include;	/* one of these functions is on the stack */
	struct pattern_list exclude;	/* none of these is */
	struct pattern_list modules;	/* the stack goes through one of these modules */
	struct pattern_list no_modules; /* through none of these */
	struct pattern_list tags;	/* allocated inside of one of these tags */
	struct pattern_list threads;	/* allocated by one of these, by name or number */
	uint64_t size_min;
	uint64_t size_max; /* counts if has_size_max */
	bool has_size_max;
};

/* What becomes of a site. Several reasons may apply; the first in this order is given. */
enum filter_verdict {
	FILTER_KEPT,
	FILTER_FUNCTION,
	FILTER_MODULE,
	FILTER_TAG,
	FILTER_SIZE,	   /* blocks that are too small or too large: of a site, that part */
	FILTER_THREAD,	   /* allocated by other threads: of a site, that part */
	FILTER_SUPPRESSED, /* a leak that a rule names: see suppress.h */
	FILTER_VERDICTS
};

void filter_free(struct filter *f);

/* True if nothing is asked for that a stack could fail. */
bool filter_is_empty(const struct filter *f);

/* True if something is asked for that is no matter of threads. */
bool filter_asks_for_stacks(const struct filter *f);

/* True if it asks for certain sizes; and if a block of that size has one of them. */
bool filter_asks_for_sizes(const struct filter *f);
bool filter_has_size(const struct filter *f, uint64_t bytes);

/* True if a site has blocks of the sizes asked for and others. */
bool filter_is_mixed(const struct filter *f, const struct profile_site *site);

/* The verdict on every site, an array to be freed with free(). Frames of the C library at the root
 * end of a stack, which start the program or thread, belong to no module here: every stack has
 * them. Sites with mixed sizes are kept. */
uint8_t *filter_judge(const struct filter *f, const struct model *m);

/* True if a pattern for modules means some that start programs, whose frames there do not count. */
bool filter_spares_start(const struct filter *f, const struct model *m);

/* A pattern that nothing in the profile has to do with. */
struct filter_miss {
	const char *what; /* "function", "module", "tag", "thread" */
	const struct pattern *pattern;
	bool leaves_out; /* what it names, where others take nothing but that */
};

struct filter_misses {
	VEC(struct filter_miss) all;
};

/* Lists them; free with vec_free(&misses->all). */
void filter_list_misses(const struct filter *f, const struct model *m,
			struct filter_misses *misses);

/* True if the filter takes that thread: by a glob or regular expression for its name, or its
 * number. */
bool filter_has_thread(const struct filter *f, const struct profile *p,
		       const struct profile_thread *t);

/* True if it takes all threads of the profile, so that stacks need not be told apart by thread. */
bool filter_has_all_threads(const struct filter *f, const struct profile *p);

#endif
