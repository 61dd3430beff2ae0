/* procfs.h -- what /proc knows of another process. Runs: in a collector process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PROCFS_H
#define MIDDEN_CLI_PROCFS_H

#include <stdbool.h>
#include <sys/types.h>

/* malloc'ed text, "" where it cannot be had. */
char *procfs_read_link(pid_t pid, const char *name); /* exe, cwd */
char *procfs_read_command(pid_t pid);		     /* shell-quoted arguments */
char *procfs_read_program(pid_t pid); /* the name it was started by, without directory */

/* What its main thread is called, also if it is dead but not yet reaped. */
char *procfs_read_name(pid_t pid);

/* The wait status of a process that is dead but not yet reaped. False: not to be had. */
bool procfs_find_exit(pid_t pid, int *status);

#endif
