/* mapcalls.h -- what events about mapped memory say: segment.h has their encoding. Pure contract.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_FORMAT_MAPCALLS_H
#define MIDDEN_FORMAT_MAPCALLS_H

/* What has become of a range of addresses. */
enum segment_map_call {
	/* it is mapped now, whatever was there before; stamped after the call, as its failure is */
	SEGMENT_MAP_ADDED = 0,
	/* a call failed that would have mapped something */
	SEGMENT_MAP_FAILED = 1,
	/* no longer; stamped and published before the call */
	SEGMENT_MAP_REMOVED = 2,
	/* the same for a shared segment, of which only the address is known */
	SEGMENT_MAP_DETACHED = 3,
	/* the thread's last REMOVED or DETACHED did not come about */
	SEGMENT_MAP_KEPT = 4,
	/* it is to be moved or resized: taken off the table, still counted */
	SEGMENT_MAP_MOVE = 5,
	/* what the thread's last MOVE took is here now */
	SEGMENT_MAP_MOVED = 6,
	/* or it stays as it was */
	SEGMENT_MAP_MOVE_FAILED = 7,
	SEGMENT_MAP_CALLS = 8
};

/* What is mapped. */
enum segment_map_kind {
	SEGMENT_MAP_ANONYMOUS = 0,
	SEGMENT_MAP_FILE = 1,	  /* shm_open's too */
	SEGMENT_MAP_RESERVED = 2, /* PROT_NONE, of whatever */
	SEGMENT_MAP_SHARED = 3,	  /* shmat */
	SEGMENT_MAP_BREAK = 4,	  /* brk, sbrk */
	SEGMENT_MAP_KINDS = 5
};

#endif
