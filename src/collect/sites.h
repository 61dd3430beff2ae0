/* sites.h -- figures per allocating stack. Runs: in the collector process, one thread, for every
 * event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SITES_H
#define MIDDEN_COLLECT_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/peak.h"

struct site {
	struct holding held;
	uint64_t temporary;
	uint64_t reallocations;
	uint64_t noted_bytes; /* live as of the last point of the series that names this site */
	uint64_t noted_blocks;
	uint32_t node;
	uint32_t thread; /* index of the only one that allocated here; SITES_SHARED: see parts.h */
	bool changed;	 /* since the last point: in the list below */
};

#define SITES_SHARED UINT32_MAX

/* Zero-initialise. */
struct sites {
	VEC(struct site) list;
	/* node -> index in `list` + 1, 0 none; as long as the highest node seen */
	VEC(uint32_t) by_node;
	VEC(uint32_t) changed;
};

void sites_fini(struct sites *s);

/* Slow path of sites_reserve: a node seen for the first time. */
uint32_t sites_add(struct sites *s, uint32_t node, uint32_t thread);

/* Slow path of sites_touch: the first change since the last point. */
void sites_note_change(struct sites *s, uint32_t index);

/* The index of the node's site, made if need be: it is then this thread's. The caller has checked
 * the node against the layout. */
static inline uint32_t sites_reserve(struct sites *s, uint32_t node, uint32_t thread)
{
	if (node < s->by_node.count && s->by_node.at[node])
		return s->by_node.at[node] - 1;
	return sites_add(s, node, thread);
}

/* The site, to be changed: enters it in the list of changed ones. */
static inline struct site *sites_touch(struct sites *s, uint32_t index)
{
	struct site *site = &s->list.at[index];

	if (!site->changed)
		sites_note_change(s, index);
	return site;
}

#endif
