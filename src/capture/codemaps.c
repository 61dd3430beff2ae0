/* codemaps.c -- executable memory, as the kernel lists it: for code that belongs to no object.
 * Runs: any thread of the target, inside malloc. Called by returns.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each range is one word, put there when a question has led to it and replaced by later ones: a
 * reader finds a range as it was, or not at all, and then asks the kernel itself. */
#include "capture/codemaps.h"

#include <stdatomic.h>

#include "capture/host.h"
#include "capture/maps.h"

#define RANGES	   256
#define PAGE_BITS  12
#define COUNT_BITS 28 /* pages of a range: a terabyte */
#define SKIP_MOST  4095
#define DENIED	   64 /* a power of two */

static _Atomic uint64_t ranges[RANGES]; /* number of the first page, how many; 0: none */
static _Atomic uint32_t turn;		/* which one is replaced next */

/* Addresses that were found in no executable range, a word each: the address above, below it how
 * many questions about it to leave unasked. How many the next time: in a word of its own, where a
 * mixture of two addresses does no harm. */
#define LEFT_BITS 16
static _Atomic uint64_t denied[DENIED];
static _Atomic uint32_t denied_next[DENIED];

bool codemaps_is_known(uint64_t address)
{
	uint64_t page = address >> PAGE_BITS;

	for (unsigned i = 0; i < RANGES; i++) {
		uint64_t range = atomic_load_explicit(&ranges[i], memory_order_relaxed);

		if (range == 0)
			return false;
		if (page - (range >> COUNT_BITS) < (range & ((UINT64_C(1) << COUNT_BITS) - 1)))
			return true;
	}
	return false;
}

struct question {
	uint64_t address;
	bool found;
};

static bool look_at(void *context, const struct maps_range *range)
{
	struct question *q = context;
	uint64_t first = range->start >> PAGE_BITS;
	uint64_t pages = (range->end >> PAGE_BITS) - first;

	if (q->address >= range->end)
		return true;
	q->found = q->address >= range->start && range->executable;
	if (q->found && pages >> COUNT_BITS == 0) {
		uint32_t i = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % RANGES;

		atomic_store_explicit(&ranges[i], first << COUNT_BITS | pages,
				      memory_order_relaxed);
	}
	return false; /* those that follow are higher */
}

/* Whether the question is one to leave unasked. */
static bool is_denied(uint64_t address, unsigned i)
{
	uint64_t word = atomic_load_explicit(&denied[i], memory_order_relaxed);

	if (word >> LEFT_BITS != address || (word & ((1u << LEFT_BITS) - 1)) == 0)
		return false;
	atomic_store_explicit(&denied[i], word - 1, memory_order_relaxed);
	return true;
}

static void deny(uint64_t address, unsigned i)
{
	uint64_t word = atomic_load_explicit(&denied[i], memory_order_relaxed);
	uint32_t next = atomic_load_explicit(&denied_next[i], memory_order_relaxed);

	next = word >> LEFT_BITS == address ? 2 * next + 1 : 1;
	next = next < SKIP_MOST ? next : SKIP_MOST;
	atomic_store_explicit(&denied_next[i], next, memory_order_relaxed);
	atomic_store_explicit(&denied[i], address << LEFT_BITS | next, memory_order_relaxed);
}

bool codemaps_has(uint64_t address)
{
	unsigned i = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 58) % DENIED;
	struct question q = {.address = address};

	if (codemaps_is_known(address))
		return true;
	if (is_denied(address, i))
		return false;
	(void)maps_read(look_at, &q);
	if (!q.found)
		deny(address, i);
	return q.found;
}
