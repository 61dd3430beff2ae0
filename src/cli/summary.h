/* summary.h -- what `midden record` tells at the end, and while it runs. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_SUMMARY_H
#define MIDDEN_CLI_SUMMARY_H

#include <stdbool.h>

#include "cli/recording.h"

/* Of all processes of a recording. */
struct summary {
	bool quiet;
	bool follow;
	bool verbose; /* every process has its lines */
	/* The rest begins as 0. */
	unsigned profiles; /* that were written */
	unsigned named;	   /* that had lines of their own */
	bool is_scattered; /* they are not all in one directory */
	char directory[PATH_MAX];
};

/* The lines about one recorded process, if it has any; `is_program`: it is the one that the user
 * named. */
void summary_print(struct summary *s, const struct recording_report *report, bool is_program);

/* The line about all profiles, if there are several. */
void summary_print_all(const struct summary *s);

/* The line about processes that did nothing, if there are any. */
void summary_print_idle(unsigned count);

/* Rewrites the progress line; summary_end_progress removes it. */
void summary_print_progress(const struct collect_status *status);
void summary_end_progress(void);

#endif
