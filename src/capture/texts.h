/* texts.h -- names and paths in the segment, each once; lock-free.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called where something
 * is new: by modules.c and by who makes named frames.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_TEXTS_H
#define MIDDEN_CAPTURE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/thread.h"

/* What the texts live in, so that tests can have some without a process. */
struct texts {
	_Atomic uint32_t *roots;
	char *strings;
	_Atomic uint32_t *used;	 /* bytes of `strings` */
	_Atomic uint32_t *count; /* of texts */
	uint32_t room;
};

/* Those of this process. */
struct texts texts_get(void);

/* The offset of a text of so many bytes, without a NUL among them; it is cut at SEGMENT_TEXT_MAX,
 * not inside of a UTF-8 character. 0, the empty text, if there is no room. */
uint32_t texts_add(const struct texts *s, const char *text, size_t bytes);

#endif
