/* python_names.h -- frames of Python as named frames of the segment.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instruction of a code object has a function, a file and a line. They are read and copied when
 * it is first met; afterwards a table gives the named frame, for as long as the code object is the
 * same (python_frame.stamp). Texts that are compiled while the program runs (exec, eval) come and
 * go at the same addresses with hardly a difference: of those the line table is compared too. */
#ifndef MIDDEN_CAPTURE_PYTHON_NAMES_H
#define MIDDEN_CAPTURE_PYTHON_NAMES_H

#include "capture/python_frames.h"
#include "format/segment.h"

/* A frame with its name. */
struct python_name {
	struct python_frame frame;
	uint64_t table; /* a hash of the line table of what was compiled from a text; else 0 */
	uint32_t place; /* for a stack: see named.h. 0: no room, or its names cannot be read */
};

#define PYTHON_NAMES_TEXT (SEGMENT_TEXT_MAX + 5) /* room for a text, and a character more */

/* Where the last line of a code object was found. */
struct python_names_mark {
	uint64_t code;
	uint64_t ended; /* code objects that had been freed by then: python_memo.h */
	struct python_lines_mark mark;
};

#define PYTHON_NAMES_MARK_BITS 4

/* What is needed to read names. */
struct python_namer {
	const struct python_interpreter *i;
	struct python_reads *reads;
	char *text;			 /* of PYTHON_NAMES_TEXT bytes */
	struct python_names_mark *marks; /* 1 << PYTHON_NAMES_MARK_BITS */
};

/* Gives name->frame its place. */
void python_names_find(const struct python_namer *n, struct python_name *name);

/* Whether the line table of a name with one is still the same. */
NOINLINE bool python_names_has_table(const struct python_namer *n, const struct python_name *name);

/* Whether a name that was found earlier is that of the frame. */
static inline bool python_names_is(const struct python_namer *n, const struct python_name *name,
				   const struct python_frame *frame)
{
	return ((name->frame.code ^ frame->code) | (name->frame.stamp ^ frame->stamp) |
		(uint64_t)(name->frame.offset ^ frame->offset)) == 0 &&
	       (likely(!name->table) || python_names_has_table(n, name));
}

/* Whether the names of a frame's code are such that they can be read. */
bool python_names_check(const struct python_namer *n, uint64_t code);

#endif
