/* launch.h -- starts the program under test. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_LAUNCH_H
#define MIDDEN_CLI_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct launch {
	char **arguments;
	const char *path; /* of an ELF file to run; NULL: whatever execvp makes of arguments[0] */
	const char *library; /* libmidden.so */
	const char *socket;
	const sigset_t *signals; /* mask that the program gets */
	bool ignores_children;	 /* SIGCHLD is ignored, as it was for whoever started us */
	bool calms_sanitizer;	 /* tell AddressSanitizer to bear with a preloaded library */
};

/* The libmidden.so that belongs to this command: beside it, or in lib/ of the same prefix.
 * malloc'ed; NULL with `e`. */
char *launch_find_library(struct error *e);

/* -1 with `e` if the path of a library cannot stand in LD_PRELOAD. */
int launch_check_library(const char *library, struct error *e);

/* Starts the program. Its pid, or -1 with `e`; *status then is what a shell would exit with (126,
 * 127). */
pid_t launch_start(const struct launch *launch, int *status, struct error *e);

/* Ends this process as the program ended: the same exit status, or the same signal. */
void launch_hand_on(int wait_status) __attribute__((noreturn));

#endif
