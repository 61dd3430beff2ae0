/* stash.h -- memory of the target as it was at one moment, to be looked at later.
 * Runs: in the collector process; units are read, looked at and given back by any of its threads.
 * SPDX-License-Identifier: Apache-2.0
 *
 * While the target is stopped nothing is to be done but the kernel's copying. So the room is made
 * and touched before, in huge pages; the ranges lie in it one behind the other, and are read in
 * units of it. A unit that has been looked at is given back at once, as what is kept of it takes
 * memory too. */
#ifndef MIDDEN_COLLECT_STASH_H
#define MIDDEN_COLLECT_STASH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/gather.h"

#define STASH_UNIT_BYTES (UINT64_C(2) << 20) /* a huge page */

struct target_tally;

/* Zero-initialise. */
struct stash {
	char *room; /* NULL: there is none */
	uint64_t room_bytes;
	VEC(struct gather_range) ranges; /* that are in it */
	VEC(uint64_t) places;		 /* of each of them: where in the room */
	VEC(struct gather_range) rest;	 /* what does not fit */
	uint64_t used_bytes;
};

/* Makes room for so many bytes and some more, as the target may grow until it is stopped. False:
 * that is more than half of `spare_bytes`, or the kernel has none; nothing has changed. */
bool stash_open(struct stash *s, uint64_t bytes, uint64_t spare_bytes);
void stash_close(struct stash *s);

/* Units of the room, and of what is used of it. */
uint64_t stash_count_units(const struct stash *s);
uint64_t stash_count_used(const struct stash *s);

/* Has the kernel give memory for a unit. */
void stash_touch(struct stash *s, uint64_t unit);

/* Gives places to ranges, which are in order of address and do not overlap, as long as there is
 * room; `rest` is what is left over. */
void stash_plan(struct stash *s, const struct gather_range *ranges, size_t count);

/* Reads what has its place in a unit. */
void stash_read(struct stash *s, pid_t pid, uint64_t unit, struct target_tally *tally);

/* What lies in a unit, piece by piece of at most GATHER_CHUNK_BYTES: `at` is how far one has come
 * in it, and begins with 0. NULL: that was all. */
const uint64_t *stash_find(const struct stash *s, uint64_t unit, uint64_t *at,
			   struct gather_range *piece);

/* Gives the memory of a unit back. */
void stash_drop(struct stash *s, uint64_t unit);

#endif
