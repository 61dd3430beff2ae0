/* libc_arenas.c -- maps that glibc's malloc has further arenas in, those of threads. Runs: in the
 * collector process, one thread, or a copy of it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/libc_arenas.h"

#include <stdint.h>
#include <unistd.h>

#include "collect/target_read.h"

#define ARENA_BYTES (UINT64_C(64) << 20) /* they lie at multiples of it, and are no longer */
#define HEAD_MOST   UINT64_C(128)	 /* of the head itself, with room for more in it */

/* As in malloc/arena.c of glibc, struct heap_info. */
struct head {
	uint64_t arena; /* which lies behind the head of its first map */
	uint64_t previous;
	uint64_t used_bytes;
	uint64_t open_bytes; /* that may be read and written */
};

static bool is_page_count(uint64_t bytes)
{
	return bytes && bytes <= ARENA_BYTES && bytes % (uint64_t)sysconf(_SC_PAGESIZE) == 0;
}

bool libc_arenas_is_one(pid_t pid, const struct region *region)
{
	struct head head;

	if (region->start % ARENA_BYTES || !region_is_anonymous(region) || !region->is_writable ||
	    !target_read(pid, region->start, &head, sizeof(head)))
		return false;
	return head.arena >= ARENA_BYTES && head.arena % ARENA_BYTES >= sizeof(head) &&
	       head.arena % ARENA_BYTES <= HEAD_MOST && head.previous % ARENA_BYTES == 0 &&
	       is_page_count(head.used_bytes) && is_page_count(head.open_bytes) &&
	       head.used_bytes <= head.open_bytes;
}
