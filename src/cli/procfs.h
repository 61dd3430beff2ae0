/* procfs.h -- what /proc knows of another process. Runs: in a collector process, and in
 * those that ask it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PROCFS_H
#define MIDDEN_CLI_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* malloc'ed text, "" where it cannot be had. */
char *procfs_read_link(pid_t pid, const char *name); /* exe, cwd */
char *procfs_read_command(pid_t pid);		     /* shell-quoted arguments */
char *procfs_read_program(pid_t pid); /* the name it was started by, without directory */

/* The program's file under the name by which it was started, which may be that of a link to it. */
char *procfs_find_executable(pid_t pid);

/* What its main thread is called, also if it is dead but not yet reaped. */
char *procfs_read_name(pid_t pid);

/* The wait status of a process that is dead but not yet reaped. False: not to be had. */
bool procfs_find_exit(pid_t pid, int *status);

/* What a process, with the children that it has waited for, has used; 0 where it cannot be had. */
struct procfs_cost {
	uint64_t cpu_ns;
	uint64_t resident_bytes;
};
struct procfs_cost procfs_read_cost(pid_t pid);

#endif
