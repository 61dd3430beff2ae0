/* python_reads.c -- reads of an interpreter's memory that never fault.
 * Runs: any thread of the target, inside malloc. Called by what walks Python's frames.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_reads.h"

#include "capture/peek.h"

void python_reads_forget(struct python_reads *r)
{
	__builtin_memset(r, 0, sizeof(*r));
}

NOINLINE bool python_reads_ask(struct python_reads *r, uint64_t at, size_t bytes)
{
	uint64_t page = at >> PYTHON_READS_SHIFT;
	uint64_t last = (at + bytes - 1) >> PYTHON_READS_SHIFT;
	uint8_t byte;

	if (!page || last < page)
		return false;
	for (; page <= last; page++) {
		if (python_reads_knows(r, page))
			continue;
		if (!peek_strictly(page << PYTHON_READS_SHIFT, &byte, 1))
			return false;
		r->pages[page % PYTHON_READS_PAGES] = page;
	}
	return true;
}
