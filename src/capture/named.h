/* named.h -- frames of stacks that have a name and no address, by number; lock-free.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called where such a
 * frame is new to who asks: keep the answer.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	const struct texts texts = texts_get();
 *	const struct named named = named_get();
 *	const struct segment_named wanted = {.kind = SEGMENT_NAMED_TAG,
 *					     .function = texts_add(&texts, name, strlen(name))};
 *	uint32_t place = named_add(&named, &wanted);
 *
 * `place` goes where that of an address goes: into a run of stacktree.h, or t->frames. It holds for
 * this process and its segment; a fork child has another one. */
#ifndef MIDDEN_CAPTURE_NAMED_H
#define MIDDEN_CAPTURE_NAMED_H

#include <stdint.h>

#include "capture/thread.h"

/* What the table lives in, so that tests can have one without a process. */
struct named {
	_Atomic uint32_t *roots;
	struct segment_named *at;
	_Atomic uint32_t *used;
	uint32_t count;
};

/* That of this process. */
struct named named_get(void);

/* The frame of this kind, function, file and line, with SEGMENT_NODE_NAMED set; equal ones have the
 * same number. 0, which is shown as an unknown frame, if the table is full. */
uint32_t named_add(const struct named *n, const struct segment_named *wanted);

#endif
