/* python_reads.h -- reads of an interpreter's memory that never fault.
 * Runs: any thread of the target, inside malloc. Called by what walks Python's frames.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frames of a running thread are there, so a plain read of them does. But a program may have
 * overwritten them, and a wild pointer must not end it here: the first read of a page asks the
 * kernel, which says no instead of faulting, and pages that it has said yes to are remembered for a
 * while. A page that is given back within that while is not one of a live frame. */
#ifndef MIDDEN_CAPTURE_PYTHON_READS_H
#define MIDDEN_CAPTURE_PYTHON_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"

/* A walk touches some twenty pages: as good as never five of one set, which would ask each time. */
#define PYTHON_READS_SETS  128
#define PYTHON_READS_WAYS  4
#define PYTHON_READS_SHIFT 12 /* the least page size */

struct python_reads {
	/* Numbers of pages that are there, the last one asked for first; 0: free. */
	uint64_t pages[PYTHON_READS_SETS][PYTHON_READS_WAYS];
	uint64_t thread; /* a thread state that is there */
};

void python_reads_forget(struct python_reads *r);

/* Asks the kernel for all of [at, at + bytes). */
NOINLINE bool python_reads_ask(struct python_reads *r, uint64_t at, size_t bytes);

static inline uint64_t python_reads_set(uint64_t page)
{
	return page * UINT64_C(0x9e3779b97f4a7c15) >> 57;
}

static inline bool python_reads_knows(const struct python_reads *r, uint64_t page)
{
	const uint64_t *set = r->pages[python_reads_set(page)];

	return set[0] == page || set[1] == page || set[2] == page || set[3] == page;
}

/* Whether [at, at + bytes), at most a page, can be read plainly. */
static inline bool python_reads_has(struct python_reads *r, uint64_t at, size_t bytes)
{
	uint64_t first = at >> PYTHON_READS_SHIFT, last = (at + bytes - 1) >> PYTHON_READS_SHIFT;

	if (likely(first && python_reads_knows(r, first) &&
		   (first == last || python_reads_knows(r, last))))
		return true;
	return python_reads_ask(r, at, bytes);
}

/* What was found to be there. */
static inline uint64_t python_reads_word(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT: python_reads_has */
}

static inline uint32_t python_reads_half(uint64_t at)
{
	return *(const uint32_t *)(uintptr_t)at; /* NOLINT: python_reads_has */
}

static inline uint8_t python_reads_byte(uint64_t at)
{
	return *(const uint8_t *)(uintptr_t)at; /* NOLINT: python_reads_has */
}

#endif
