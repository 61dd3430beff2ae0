/* walk_sink.h -- the frames of a stack that may be deeper than is kept: its leaf and root ends.
 * Runs: any thread of the target, inside malloc. Called by walk.c and walk_full.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_WALK_SINK_H
#define MIDDEN_CAPTURE_WALK_SINK_H

#include <stdint.h>

#include "capture/thread.h"

struct walk_sink {
	uint32_t *frames;
	uint32_t count;	    /* frames seen */
	uint32_t next;	    /* where the next one goes */
	uint32_t leaf_room; /* frames kept at the leaf end when cut */
	uint32_t root_room;
};

/* Into t->frames. */
void walk_sink_init(struct walk_sink *s, struct thread *t);

/* The next frame outwards: a place as rules_find gives it, with SEGMENT_NODE_* flags. */
void walk_sink_keep(struct walk_sink *s, uint32_t place);

/* Puts the frames in order, leaf first, around one SEGMENT_NODE_CUT frame if there were too many
 * (which is counted); returns how many there are. */
uint32_t walk_sink_finish(struct walk_sink *s, struct segment_losses *losses);

#endif
