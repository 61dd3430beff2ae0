/* parts.h -- whose blocks a site's are, where more than one thread allocates. Runs: in the
 * collector process, one thread, for every event of such a site.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part is a thread's share of a site, found by a hash of both. A site that one thread alone uses
 * has none. There is a limit to the parts: threads that come to a site later share one. Parts stay,
 * so a thread that has none at a site when it allocates there never gets one, and its blocks are
 * looked for where they were counted. */
#ifndef MIDDEN_COLLECT_PARTS_H
#define MIDDEN_COLLECT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/peak.h"

/* Parts of 64 bytes and their places of 16: 24 MiB, where a thousand threads meet in 260 sites. */
#define PARTS_MAX     262144u
#define PARTS_FURTHER UINT32_MAX /* stands for the threads that have no part of their own */

/* What is live is what came less what went; peak_seen as in struct holding. */
struct part {
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t peak_seen;
	uint64_t at_peak_bytes;
	uint64_t at_peak_blocks;
	uint64_t temporary;
};

struct part_place {
	uint64_t key;  /* site << 32 | thread */
	uint64_t part; /* index in `list` + 1; 0: free */
};

/* Zero-initialise, but for `most`. */
struct parts {
	VEC(struct part) list;
	VEC(uint64_t) keys; /* of the parts in `list` */
	struct part_place *places;
	size_t place_count; /* a power of two, at most half of them taken; 0 at first */
	unsigned shift;	    /* 64 - log2 of it */
	size_t most;	    /* parts of threads; what a site needs in any case comes on top */
};

void parts_fini(struct parts *p);

/* The site is no longer one thread's: all that it holds becomes the share of `thread`. */
void parts_split(struct parts *p, uint32_t site, uint32_t thread, const struct part *whole);

/* Slow path of parts_reserve: a thread that is new at the site. */
struct part *parts_add(struct parts *p, uint32_t site, uint32_t thread);

static inline uint64_t parts_get_key(uint32_t site, uint32_t thread)
{
	return (uint64_t)site << 32 | thread;
}

/* The share of this very thread, or NULL. The site has been split. */
static inline struct part *parts_find_own(const struct parts *p, uint32_t site, uint32_t thread)
{
	uint64_t key = parts_get_key(site, thread);
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> p->shift;

	while (p->places[i].part && p->places[i].key != key)
		i = (i + 1) & (p->place_count - 1);
	return p->places[i].part ? &p->list.at[p->places[i].part - 1] : NULL;
}

/* The share that the thread's blocks at this site are in; there are such blocks. */
static inline struct part *parts_get(const struct parts *p, uint32_t site, uint32_t thread)
{
	struct part *part = parts_find_own(p, site, thread);

	return part ? part : parts_find_own(p, site, PARTS_FURTHER);
}

/* The same for a block to come. */
static inline struct part *parts_reserve(struct parts *p, uint32_t site, uint32_t thread)
{
	struct part *part = parts_find_own(p, site, thread);

	return part ? part : parts_add(p, site, thread);
}

/* To be called before every change, and before at_peak_* are read. */
static inline void parts_settle(struct part *part, const struct peak *peak)
{
	if (part->peak_seen == peak->number)
		return;
	part->peak_seen = peak->number;
	part->at_peak_bytes = part->allocated_bytes - part->freed_bytes;
	part->at_peak_blocks = part->allocations - part->frees;
}

#endif
