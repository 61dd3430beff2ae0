/* tracking.h -- a program's figures over time, for `midden top`: now, a moment ago, and at a mark.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_TRACKING_H
#define MIDDEN_CLI_TRACKING_H

#include <stdbool.h>

#include "cli/pulse.h"
#include "report/top_text.h"

#define TRACKING_FILTER_MOST 63u

/* What is to be seen of it. */
struct tracking_view {
	enum ranking_key key;
	bool by_stack;
	char filter[TRACKING_FILTER_MOST + 1];
};

/* Zero-initialise; tracking_end frees what is in it. */
struct tracking {
	struct pulse pulse;
	bool live; /* the program goes on, as far as is known */
	unsigned misses;
	struct ranking_base mark;   /* growth is counted from here */
	struct ranking_base before; /* rates are */
	struct tracking_view view;
};

/* Asks for the first state, which is the mark, or reads a file (NULL: the newest) if `pid` is 0.
 * COMMAND_GOOD, or COMMAND_FAILED after a message. `load` must stay. */
int tracking_begin(struct tracking *t, pid_t pid, const char *file,
		   const struct load_options *load);

/* Asks for the next state; the last one, when the program has ended, is that of the profile that
 * was written. False: there is none now, or, when `live` is no longer set, ever. */
bool tracking_step(struct tracking *t);

/* Growth is counted from now on; or from the program's start again. */
void tracking_set_mark(struct tracking *t);
void tracking_unset_mark(struct tracking *t);

/* What to ask a ranking for. */
struct ranking_request tracking_get_request(const struct tracking *t);

/* How it is to be printed, once ranked. */
struct top_text tracking_get_text(const struct tracking *t, const struct ranking *r);

void tracking_end(struct tracking *t);

#endif
