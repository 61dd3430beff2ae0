/* pagemap.h -- which pages of a process are in memory. Runs: in the collector process, one thread,
 * when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel tells it of every process that this user may look at, and stops nobody for it: what
 * changes meanwhile is seen as it was before or after. A huge page is all of its small pages,
 * resident together. */
#ifndef MIDDEN_COLLECT_PAGEMAP_H
#define MIDDEN_COLLECT_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum pagemap_state {
	PAGEMAP_RESIDENT = 1,
	PAGEMAP_SWAPPED = 2,
	PAGEMAP_HUGE = 4, /* with RESIDENT, where the kernel says so (6.7) */
	/* Nobody may touch it, in a map where others may; alone, for those who want to know. Where
	 * the kernel does not say so (6.15, scans 6.16), it is SWAPPED. */
	PAGEMAP_GUARD = 8,
};

struct pagemap {
	int fd;
	uint64_t page_bytes;
	bool scans;	   /* the kernel can leave out what is not there (6.7) */
	bool scans_guards; /* and tells guards apart from what is swapped out */
	bool shows_guards; /* to be set by who wants to see them */
};

/* Pages that follow one another and are alike. */
struct pagemap_run {
	uint64_t start;
	uint64_t end;
	unsigned state; /* enum pagemap_state; not 0 */
};

struct pagemap_count {
	uint64_t resident_bytes;
	uint64_t swapped_bytes;
	uint64_t huge_bytes; /* of the resident ones */
};

/* 0, or -1 with `e`: there is no such process, or the kernel does not let us look. */
int pagemap_open(struct pagemap *m, pid_t pid, struct error *e);
void pagemap_close(struct pagemap *m);

/* Shows the pages of [start, end) that are resident or swapped out, in order of address. Both are
 * whole pages. The page of zeros, which untouched memory is read from, is no memory of the
 * process's where the kernel tells it apart (6.7), as in the kernel's own count. 0, or -1 with `e`.
 */
int pagemap_visit(struct pagemap *m, const struct pagemap_run *range,
		  void (*visit)(void *context, const struct pagemap_run *run), void *context,
		  struct error *e);

/* Adds up what is in memory of [start, end), which need not be whole pages: those that it touches
 * count in full. */
int pagemap_count(struct pagemap *m, uint64_t start, uint64_t end, struct pagemap_count *count,
		  struct error *e);

#endif
