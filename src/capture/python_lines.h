/* python_lines.h -- which line of its source an instruction of Python belongs to.
 * Runs: any thread of the target, inside malloc. Pure. Called where an instruction is new.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_PYTHON_LINES_H
#define MIDDEN_CAPTURE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* How a code object keeps its lines. */
enum python_lines_kind {
	PYTHON_LINES_STEPS,  /* co_lnotab up to 3.9: pairs of steps of bytes and of lines */
	PYTHON_LINES_RANGES, /* co_linetable of 3.10 (PEP 626): pairs for ranges of bytes */
	PYTHON_LINES_PLACES, /* co_linetable since 3.11 (PEP 657): entries with columns */
};

struct python_lines {
	enum python_lines_kind kind;
	const uint8_t *table;
	size_t bytes;
	int32_t first_line;
};

/* Where a search has come to: what is before it belongs to instructions before `end`. All zero: it
 * begins. */
struct python_lines_mark {
	size_t at; /* in the table */
	int64_t end;
	int64_t step; /* the line less the first one */
};

/* The line of the instruction at `offset` bytes; the first line for a frame that has not begun (an
 * offset less than 0), 0 for an instruction that belongs to none. */
uint32_t python_lines_find(const struct python_lines *l, int64_t offset);

/* The same from where the last search in the same table has come to, if the instruction is not
 * before that: modules are long, and run from their beginning to their end. */
uint32_t python_lines_find_from(const struct python_lines *l, int64_t offset,
				struct python_lines_mark *mark);

#endif
