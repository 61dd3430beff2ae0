/* outfile.h -- a file that a command writes: whole under its name, or not there at all. Runs: in
 * the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_OUTFILE_H
#define MIDDEN_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* Whether there is a file that is no profile: a profile is not to be written over it. */
bool outfile_is_strangers(const char *path);

/* The same with its message, which names the option that chose the file: COMMAND_GOOD or
 * COMMAND_FAILED. Before the work, so that none is in vain. `path` may be NULL. */
int outfile_check_profile(const char *path, const char *option);

struct outfile {
	FILE *file;
	const char *path;
	char *temporary; /* the name until it is complete; NULL if written in place */
};

/* Opens a new file beside `path` for writing, with the permissions that a new file gets. A device
 * or pipe is written to directly. 0, or -1 with the error. `path` must stay. */
int outfile_open(struct outfile *o, const char *path, struct error *e);

/* Gives the file its name. 0, or -1 with the error: not all could be written, and `path` is as it
 * was. Closes in either case. */
int outfile_close(struct outfile *o, struct error *e);

/* Closes and leaves nothing behind. */
void outfile_abandon(struct outfile *o);

/* All of that for what `write` prints, into `path` or, if it is NULL, to standard output. `what`
 * begins the message if it fails. Returns the exit status. */
typedef int (*outfile_fn)(FILE *out, void *context, struct error *e);
int outfile_fill(const char *path, const char *what, outfile_fn write, void *context);

#endif
