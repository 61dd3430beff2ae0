/* supervisor.h -- the process above a recording: the program, its collectors, their reports.
 * Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_SUPERVISOR_H
#define MIDDEN_CLI_SUPERVISOR_H

#include <stdbool.h>

#include "cli/recording.h"

struct supervisor_request {
	const struct recording_options *recording;
	char **arguments;
	const char *library;
	bool quiet;
	bool announce; /* tell the program's process id */
	bool verbose;  /* and of every process that is followed */
};

/* Runs the program to its end and ends this process the same way; returns an exit status only if
 * the program could not be started. */
int supervisor_run(const struct supervisor_request *request);

#endif
