/* objects.h -- which objects a process has loaded, and which of their pages are in memory.
 * Runs: in the collector process, one thread, when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_OBJECTS_H
#define MIDDEN_COLLECT_OBJECTS_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/pagemap.h"
#include "collect/regions.h"
#include "profile/profile.h"

/* A program or library: maps of one file that follow one another, and its memory of no file. */
struct loaded_object {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* offset in `names` */
	size_t runs;   /* of `runs`, those up to its last */
};

/* Zero-initialise. */
struct objects {
	VEC(struct loaded_object) list; /* in order of address */
	VEC(struct pagemap_run) runs;	/* resident pages */
	VEC(char) names;
	uint64_t ticks;	  /* when that was; 0: nobody has looked */
	uint32_t threads; /* that there were then */
};

/* Looks anew. The object that holds `left_out` is not wanted. 0, or -1 with `e`; it is as if nobody
 * had looked then. */
int objects_look(struct objects *o, const struct regions *regions, struct pagemap *pages,
		 uint64_t left_out, struct error *e);
void objects_fini(struct objects *o);

/* Puts what was seen into a profile that has its modules and threads: those that are on no stack
 * become modules too. `time_ns` is that of the look. */
void objects_build(const struct objects *o, struct profile *p, uint64_t time_ns);

#endif
