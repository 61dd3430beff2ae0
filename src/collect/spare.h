/* spare.h -- how much memory and how many cores could be taken without harm to others.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SPARE_H
#define MIDDEN_COLLECT_SPARE_H

#include <stdint.h>

/* Where the kernel tells. */
struct spare_files {
	const char *meminfo; /* /proc/meminfo */
	const char *cgroup;  /* /proc/self/cgroup */
	const char *mount;   /* /sys/fs/cgroup */
};

/* What the machine has left, and what this process's control groups leave of it: free, or taken by
 * files that are at hand elsewhere. 0: none, or it cannot be told. NULL: where the kernel has it.
 */
uint64_t spare_read_bytes(const struct spare_files *files);

/* Cores that this process's control groups let it use, be it only a part of the last one: 1 and
 * more, UINT64_MAX for no limit. */
uint64_t spare_read_cores(const struct spare_files *files);

#endif
