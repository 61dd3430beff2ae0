/* regions.h -- what a process has mapped where. Runs: in the collector process, one thread, when
 * somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_REGIONS_H
#define MIDDEN_COLLECT_REGIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect/deadline.h"

/* A line of /proc/PID/maps. */
struct region {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	uint64_t inode;	 /* 0: no file */
	uint32_t name;	 /* offset in `names` */
	bool is_readable;
	bool is_writable;
	bool is_executable;
	bool is_shared;
};

/* Zero-initialise. */
struct regions {
	VEC(struct region) list;	 /* in order of address */
	VEC(char) names;		 /* starts with a NUL byte: offset 0 is "" */
	const struct deadline *deadline; /* when it is over, no more are read; NULL: there is none.
					    To be filled in */
};

/* Reads them anew. 0, or -1 with `e`: there is no such process any more, or the kernel does not let
 * us look. */
int regions_read(struct regions *r, pid_t pid, struct error *e);
void regions_fini(struct regions *r);

/* The path of a file, "[heap]", "[stack]", "[anon:...]", "" and the like. */
const char *regions_get_name(const struct regions *r, const struct region *region);

/* Which one an address lies in, or NULL. */
const struct region *regions_find(const struct regions *r, uint64_t address);

/* Private memory that is no file's: heaps, thread stacks, what a program maps for itself. */
static inline bool region_is_anonymous(const struct region *region)
{
	return region->inode == 0 && !region->is_shared;
}

#endif
