/* marks.c -- what the program itself asks for, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/marks.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "capture/orders.h"
#include "capture/ring.h"
#include "midden/midden.h"

#define EXPORT __attribute__((visibility("default")))

/* The collector keeps the state as of the last piece. */
EXPORT void midden_take_snapshot(const char *name)
{
	int saved = errno;
	size_t bytes = name ? strlen(name) : 0;
	size_t last;
	uint64_t words[3] = {0};

	if (bytes > SEGMENT_MARK_NAME_MAX)
		bytes = SEGMENT_MARK_NAME_MAX;
	last = bytes ? (bytes - 1) % SEGMENT_MARK_PIECE + 1 : 0;
	if (last)
		memcpy(words, name + bytes - last, last);
	if (orders_put_text(name, bytes - last))
		(void)orders_put(SEGMENT_EVENT_MARK, 0, words);
	errno = saved;
}

/* It may have come inside a hook, where no event can be written: the collector takes the snapshot
 * when it sees the count. */
static void note_signal(int number)
{
	(void)number;
	if (!process || atomic_load(&process->state) != PROCESS_RECORDING)
		return;
	atomic_fetch_add_explicit(&process->header->signals, 1, memory_order_relaxed);
	ring_wake_collector(process->header);
}

void marks_take_signal(int number)
{
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};

	if (number > 0 && number < NSIG)
		(void)sigaction(number, &action, NULL);
}
