/* filters.h -- filters of system calls (seccomp): whether a thread of the target is under the very
 * same ones as the collector, and what these say to the calls that make a copy.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters are inherited, and can only be added to. Who descends from a process and has as many as
 * that had has the same ones. A filter sees the number of a call, its arguments, and the address
 * that it is made at, which says nothing to a filter that is older than the program; so what it
 * says to us it says to the target. */
#ifndef MIDDEN_COLLECT_FILTERS_H
#define MIDDEN_COLLECT_FILTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Has a thread as many as that: 0 is none at all. False too where the kernel does not say (Linux
 * 5.9), and in the mode that allows next to nothing. */
bool filters_are(pid_t tid, uint32_t count);

/* How many the calling thread has; 0: none, or it is not known. */
uint32_t filters_count_own(void);

/* Makes the calls that a copy is made by, and what that does itself, in a process of our own: a
 * filter may kill who makes them. True: all were done. `flags` are those of clone. */
bool filters_try(uint64_t flags);

/* PTRACE_O_SUSPEND_SECCOMP: the filters of a traced thread do not count. Linux 4.3; old headers do
 * not have it. */
#define FILTERS_SUSPEND (UINT32_C(1) << 21)

/* Whether the kernel lets us do that, which is tried on a process of our own: with CAP_SYS_ADMIN,
 * under no filter ourselves, and if it was built for it (CONFIG_CHECKPOINT_RESTORE). */
bool filters_can_suspend(void);

#endif
