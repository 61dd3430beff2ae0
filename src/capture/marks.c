/* marks.c -- what the program itself asks for, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "capture/hot.h"
#include "midden/midden.h"

#define EXPORT __attribute__((visibility("default")))

/* One event with a piece of the name, zeroes behind it. False: nothing is being recorded. */
static bool put_piece(const char *piece, size_t bytes, uint32_t kind)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return false;
	uint64_t *at = t->pos;
	at[1] = at[2] = at[3] = 0;
	memcpy(&at[1], piece, bytes);
	at[0] = hot_word(t, kind, 0);
	hot_publish(t, at + 4);
	hot_leave(t);
	return true;
}

/* The collector keeps the state as of the last piece. */
EXPORT void midden_take_snapshot(const char *name)
{
	int saved = errno;
	size_t left = name ? strlen(name) : 0;
	bool recording = true;

	if (left > SEGMENT_MARK_NAME_MAX)
		left = SEGMENT_MARK_NAME_MAX;
	for (; recording && left > SEGMENT_MARK_PIECE; left -= SEGMENT_MARK_PIECE) {
		recording = put_piece(name, SEGMENT_MARK_PIECE, SEGMENT_EVENT_NAME);
		name += SEGMENT_MARK_PIECE;
	}
	if (recording)
		(void)put_piece(name ? name : "", left, SEGMENT_EVENT_MARK);
	errno = saved;
}
