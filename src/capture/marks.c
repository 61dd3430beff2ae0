/* marks.c -- what the program itself asks for, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/marks.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "capture/cold.h"
#include "capture/orders.h"
#include "capture/ring.h"
#include "capture/stamp.h"
#include "format/clock.h"
#include "midden/midden.h"

#define WAIT_SLICE_NS 5000000L /* as long as a wake-up may get lost */
#define EXPORT	      __attribute__((visibility("default")))

uint32_t marks_number(void)
{
	return atomic_fetch_add(&process->marks, 1) + 1;
}

void marks_await(uint32_t number)
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
	size_t bytes = name ? strlen(name) : 0;
	size_t last;
	uint64_t words[3] = {0};

	if (thread_self->state == THREAD_NEW && is_recording())
		(void)cold_attach();
	if (bytes > SEGMENT_MARK_NAME_MAX)
		bytes = SEGMENT_MARK_NAME_MAX;
	last = bytes ? (bytes - 1) % SEGMENT_MARK_PIECE + 1 : 0;
	if (last)
		memcpy(words, name + bytes - last, last);
	uint32_t number = is_recording() ? marks_number() : 0;
	if (orders_put_text(name, bytes - last) && orders_put(SEGMENT_EVENT_MARK, 0, words) &&
	    process->mode == SEGMENT_MODE_TAGS)
		marks_await(number);
	errno = saved;
}

/* It may have come inside a hook, where no event can be written: the collector looks for what is
 * noted here with every round, and once more after our end. Where all places are taken, as many
 * signals have just come: one more would show the same. */
static void note_signal(int number)
{
	struct segment_header *h = process ? process->header : NULL;

	(void)number;
	if (!h || atomic_load(&process->state) != PROCESS_RECORDING)
		return;
	uint64_t now = stamp_divide();
	for (uint32_t i = 0; i < SEGMENT_SIGNALS; i++) {
		uint64_t empty = 0;

		if (atomic_compare_exchange_strong(&h->signal_ticks[i], &empty, now))
			break;
	}
	ring_wake_collector(h);
}

void marks_take_signal(int number)
{
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};

	if (number > 0 && number < NSIG)
		(void)sigaction(number, &action, NULL);
}
