/* marks.c -- what the program itself asks for, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "capture/hot.h"
#include "capture/ring.h"
#include "midden/midden.h"

#define WAIT_SLICE_NS 5000000L /* as long as a wake-up may get lost */
#define EXPORT	      __attribute__((visibility("default")))

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

/* A counter has no time: in tag mode what is counted now is what is to be kept, so the collector
 * must have read it before the program goes on. Not for ever, should it be stopped. */
static void await_handled(uint32_t number)
{
	struct segment_header *h = process->header;
	const uint64_t end = clock_monotonic_ns() + (uint64_t)h->patience_ms * 1000000;
	struct timespec slice = {.tv_nsec = WAIT_SLICE_NS};

	for (;;) {
		uint32_t seen = atomic_load(&h->marks_handled);

		if ((int32_t)(seen - number) >= 0 || clock_monotonic_ns() >= end)
			return;
		ring_wake_collector(h);
		(void)HOST_CALL4(SYS_futex, &h->marks_handled, HOST_FUTEX_WAIT, seen, &slice);
	}
}

static bool is_recording(void)
{
	return process && atomic_load(&process->state) == PROCESS_RECORDING;
}

/* The collector keeps the state as of the last piece. */
EXPORT void midden_take_snapshot(const char *name)
{
	int saved = errno;
	size_t left = name ? strlen(name) : 0;
	bool recording = true;

	if (thread_self->state == THREAD_NEW && is_recording())
		(void)cold_attach();
	if (left > SEGMENT_MARK_NAME_MAX)
		left = SEGMENT_MARK_NAME_MAX;
	for (; recording && left > SEGMENT_MARK_PIECE; left -= SEGMENT_MARK_PIECE) {
		recording = put_piece(name, SEGMENT_MARK_PIECE, SEGMENT_EVENT_NAME);
		name += SEGMENT_MARK_PIECE;
	}
	uint32_t number = is_recording() ? atomic_fetch_add(&process->marks, 1) + 1 : 0;
	if (recording && put_piece(name ? name : "", left, SEGMENT_EVENT_MARK) &&
	    process->mode == SEGMENT_MODE_TAGS)
		await_handled(number);
	errno = saved;
}
