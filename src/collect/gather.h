/* gather.h -- the words of a process's memory that may be pointers to its heap.
 * Runs: in the collector process, on some of the machine's cores; the target is stopped, or what is
 * read is a copy of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What can be done later is done later: here memory is read once, from start to end, and of every
 * aligned word only those are kept that lie where a block could be. With a stash (stash.h) even
 * that is done later. */
#ifndef MIDDEN_COLLECT_GATHER_H
#define MIDDEN_COLLECT_GATHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/crew.h"

#define GATHER_CHUNK_BYTES (256u << 10) /* stays in a core's own cache */

/* A piece of memory to read; start and end are whole words. */
struct gather_range {
	uint64_t start;
	uint64_t end;
};

/* What a chunk has: words `first` and so on of its part. */
struct gather_run {
	uint64_t address; /* of the chunk */
	uint64_t first;
	uint32_t count;
	uint32_t part;
};

/* What one thread has read. */
struct gather_part {
	VEC(struct gather_run) runs;
	VEC(uint64_t) values;
	VEC(uint16_t) places; /* in words from the chunk's start */
	uint64_t read_bytes;
	uint64_t unread_bytes; /* that the kernel would not give */
};

struct stash;
struct deadline;

/* Zero-initialise. */
struct gather {
	struct crew crew; /* who reads: to be called, or the caller reads alone */
	struct gather_part parts[CREW_MOST];
	uint32_t part_count;
	void (*pulse)(void *context); /* called now and then while reading; may be NULL */
	void *context;
	const struct deadline *deadline; /* after which nothing is read any more; NULL: none */
	bool is_late;			 /* it has passed, and not all was read */
	VEC(struct gather_run) runs;	 /* of all parts, in order of address */
	/* Where blocks may be: a bit for each MiB, by its last bits. */
	uint64_t heap[1024];
	uint64_t heap_low;
	uint64_t heap_high;
};

/* Blocks may be there. */
void gather_expect(struct gather *g, uint64_t start, uint64_t end);

/* Reads the ranges, which are in order of address and do not overlap, nor with those of an earlier
 * reading. False: the kernel gives us nothing of this process's memory. */
bool gather_read(struct gather *g, pid_t pid, const struct gather_range *ranges, size_t count);

/* The same in three steps: before the target is stopped, while it is, and when it goes on. What
 * does not fit into the stash is looked at in the second one. */
void gather_touch(struct gather *g, struct stash *s);
bool gather_stash(struct gather *g, struct stash *s, pid_t pid, const struct gather_range *ranges,
		  size_t count);
void gather_sift(struct gather *g, struct stash *s);

/* Forgets what was read, as if it had not been. */
void gather_forget(struct gather *g);

/* Puts into order what was read, before it is visited. */
void gather_sort(struct gather *g);

/* Shows what was kept of [start, end), in order of address, until `visit` says false. */
void gather_visit(const struct gather *g, const struct gather_range *range,
		  bool (*visit)(void *context, uint64_t address, uint64_t value), void *context);

/* Sends the crew home, too. */
void gather_fini(struct gather *g);

#endif
