/* streams.h -- the threads' event streams, read out of the segment. Runs: in the collector
 * process, one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything read here was written by the target and is checked before use. A stream that breaks
 * the contract is counted as one lost event and never read again. */
#ifndef MIDDEN_COLLECT_STREAMS_H
#define MIDDEN_COLLECT_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/account.h"
#include "collect/event.h"
#include "collect/segment_map.h"

enum stream_state {
	STREAM_CLOSED = 0,
	STREAM_OPEN = 1,
	STREAM_ENDING = 2, /* its thread is gone: closed once drained */
	STREAM_BROKEN = 3,
};

struct stream {
	uint64_t head;	 /* published position, as of this round */
	uint64_t base;	 /* position at which the current chunk's payload starts */
	uint32_t offset; /* bytes of it that have been handled */
	uint32_t chunk;	 /* current one, 0: none yet */
	uint32_t tid;
	uint32_t serial;
	uint64_t end_ticks; /* set if we found the thread dead; 0: it says so itself */
	uint64_t resize_ptr;
	uint32_t looks; /* how often we looked whether the thread is there */
	uint8_t state;	/* enum stream_state */
};

/* The losses that the target counted, added up. */
struct stream_losses {
	uint64_t lost_events;
	uint64_t truncated_stacks;
	uint64_t reentrant_calls;
	uint64_t failed_allocations;
	uint64_t unwind_failures;
};

struct streams {
	const struct segment_map *map;
	struct account *account;
	struct stream *at; /* by slot */
	/* by kind: an event with a node from here on has to be looked at more closely */
	uint64_t node_limits[16];
	uint32_t used; /* no slot above this is in use */
	uint32_t open;
	uint32_t open_max;
	uint32_t chunk_base; /* chunks that the buffer budget pays for */
	uint64_t budget;     /* bytes that can still be waiting, after what this round has seen */
	uint64_t broken;
	struct stream_losses retired; /* of slots that are closed */
};

void streams_init(struct streams *s, const struct segment_map *map, struct account *account,
		  uint32_t chunk_base);
void streams_fini(struct streams *s);

/* Before the heads of a round are read: how many slots to look at. */
void streams_start_round(struct streams *s);

/* Reads the slot's state and head; opens the stream if it is new. */
void streams_refresh(struct streams *s, uint32_t slot);

/* The stamp of the stream's next event; false if it has none in this round. */
bool streams_peek(struct streams *s, uint32_t slot, uint64_t *ticks);

/* After a peek that was true, or a take that a lower bound stopped: appends events stamped up to
 * `bound`, within which the first one is, to the batch, all from one chunk. Returns the stamp of
 * the event at which the bound stopped it, 0 if something else did. */
uint64_t streams_take(struct streams *s, uint32_t slot, uint64_t bound, struct event_batch *batch);

/* If the stream has ended and all of it was handled, hands its slot back to the target. */
void streams_retire(struct streams *s, uint32_t slot);

/* The thread was found dead without having said so. */
void streams_mark_dead(struct streams *s, uint32_t slot, uint64_t now_ticks);

/* Reads nothing more of any stream. */
void streams_give_up(struct streams *s);

/* Gives up on what is left of a stream that nobody will continue. */
void streams_abandon_rest(struct streams *s, uint32_t slot);

/* Adds what the slot of a live thread, or the segment's header, counts at this moment; or what
 * was counted before. */
void streams_add_losses(struct stream_losses *sum, const struct segment_losses *l);

void streams_sum_losses(struct stream_losses *sum, const struct stream_losses *more);

/* The name that the thread in this slot had when it began or, if that is its last one, ended. */
bool streams_has_last_name(const struct streams *s, uint32_t slot);
void streams_read_name(const struct streams *s, uint32_t slot, char name[SEGMENT_NAME_BYTES]);

#endif
