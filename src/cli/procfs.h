/* procfs.h -- what /proc knows of another process. Runs: in a collector process, and in
 * commands that ask one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PROCFS_H
#define MIDDEN_CLI_PROCFS_H

#include <stdbool.h>
#include <sys/types.h>

/* malloc'ed text, "" where it cannot be had. */
char *procfs_read_link(pid_t pid, const char *name); /* exe, cwd */
char *procfs_read_command(pid_t pid);		     /* shell-quoted arguments */
char *procfs_read_program(pid_t pid); /* the name it was started by, without directory */

/* Its children, numbers with blanks between them. */
char *procfs_read_children(pid_t pid);

/* Whether it runs the same command as this process, by name: installed or not. */
bool procfs_is_same_program(pid_t pid);

/* The wait status of a process that is dead but not yet reaped. False: not to be had. */
bool procfs_find_exit(pid_t pid, int *status);

#endif
