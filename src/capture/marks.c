/* marks.c -- what the program itself asks for, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "capture/orders.h"
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
