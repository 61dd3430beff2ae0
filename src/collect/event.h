/* event.h -- one event, decoded from a chunk. Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_EVENT_H
#define MIDDEN_COLLECT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/segment.h"

/* The three words of a NAME, a MARK, an ORDER or a MAP are in `ptr`, `size` and `hash`. */
struct event {
	uint64_t ticks;
	uint64_t ptr;  /* of RESIZE_FAILED too: that of the RESIZE before it */
	uint64_t hash; /* of ptr in the live table */
	uint64_t size;
	uint32_t node;
	uint32_t slot; /* whose stream it came from */
	uint8_t kind;  /* enum segment_event; the BIG forms are folded into the plain ones */
	uint8_t api;   /* enum segment_api; of an ORDER enum segment_order, of a MAP
			  enum segment_map_call, unchecked */
};

#define EVENT_BATCH 128u /* decoded ahead of handling: enough to overlap cache misses, 6 KiB */

struct event_batch {
	uint32_t count;
	struct event at[EVENT_BATCH];
};

/* Brings an address to life. */
static inline bool event_is_arrival(const struct event *e)
{
	return e->kind == SEGMENT_EVENT_ALLOC || e->kind == SEGMENT_EVENT_RESIZED ||
	       e->kind == SEGMENT_EVENT_RESIZE_FAILED;
}

/* Takes an address off the table. */
static inline bool event_is_departure(const struct event *e)
{
	return e->kind == SEGMENT_EVENT_FREE || e->kind == SEGMENT_EVENT_RESIZE;
}

#endif
