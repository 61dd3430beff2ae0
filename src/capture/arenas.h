/* arenas.h -- the memory that Python's own allocator cuts small objects out of.
 * Runs: any thread of the target, inside Python's allocator. Called by pymalloc.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bit for each page, in windows of a GiB that are mapped as they are needed. It tells the blocks
 * of arenas from those that Python has from malloc, which are recorded there. */
#ifndef MIDDEN_CAPTURE_ARENAS_H
#define MIDDEN_CAPTURE_ARENAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/unwatched.h"

#define ARENAS_WINDOWS	    256u /* GiB of addresses; arenas beyond are not known as such */
#define ARENAS_WINDOW_SHIFT 30u
#define ARENAS_PAGE_SHIFT   12u
#define ARENAS_PAGES	    (1u << (ARENAS_WINDOW_SHIFT - ARENAS_PAGE_SHIFT))

struct arenas_window {
	_Atomic uint64_t number; /* see arenas_number; 0: unused */
	_Atomic(_Atomic uint64_t *) pages;
};
extern struct arenas_window arenas_windows[ARENAS_WINDOWS] HIDDEN;

static inline UNWATCHED uint64_t arenas_number(uint64_t address)
{
	return (address >> ARENAS_WINDOW_SHIFT) + 1;
}

/* The window of an address, NULL if there is none. */
static inline const struct arenas_window *arenas_find(uint64_t address)
{
	const uint64_t number = arenas_number(address);

	for (uint32_t i = 0; i < ARENAS_WINDOWS; i++) {
		const struct arenas_window *w = &arenas_windows[(number + i) % ARENAS_WINDOWS];
		/* Pairs with the release in arenas_add: `pages` is there. */
		uint64_t seen = atomic_load_explicit(&w->number, memory_order_acquire);

		if (likely(seen == number))
			return w;
		if (!seen)
			return NULL;
	}
	return NULL;
}

static inline UNWATCHED bool arenas_has_in(const struct arenas_window *w, uint64_t address)
{
	const _Atomic uint64_t *pages = atomic_load_explicit(&w->pages, memory_order_relaxed);
	uint32_t page = (uint32_t)(address >> ARENAS_PAGE_SHIFT) % ARENAS_PAGES;
	/* An arena is known before any of its blocks is: who asks has one of those. */
	uint64_t bits = atomic_load_explicit(&pages[page / 64], memory_order_relaxed);

	return bits >> page % 64 & 1;
}

/* The first of all windows that an address can be in; NULL: it is in another one, or in none. */
static inline UNWATCHED const struct arenas_window *arenas_find_first(
	const struct arenas_window *all, uint64_t address)
{
	const uint64_t number = arenas_number(address);
	const struct arenas_window *w = &all[number % ARENAS_WINDOWS];

	/* As in arenas_find. */
	return atomic_load_explicit(&w->number, memory_order_acquire) == number ? w : NULL;
}

/* Whether a block is in an arena, where that window is not the one. */
NOINLINE bool arenas_has_elsewhere(uint64_t address);

static inline bool arenas_has(const void *block)
{
	const uint64_t address = (uint64_t)(uintptr_t)block;
	const struct arenas_window *w = arenas_find_first(arenas_windows, address);

	return likely(w) ? arenas_has_in(w, address) : arenas_has_elsewhere(address);
}

/* arenas_has_surely where the windows must not be named. */
static inline UNWATCHED bool arenas_has_among(const struct arenas_window *all, const void *block)
{
	const uint64_t address = (uint64_t)(uintptr_t)block;
	const struct arenas_window *w = arenas_find_first(all, address);

	return likely(w) && arenas_has_in(w, address);
}

/* Nearly the same as arenas_has, without a call: false may mean that it is in another window. */
static inline bool arenas_has_surely(const void *block)
{
	return arenas_has_among(arenas_windows, block);
}

void arenas_add(const void *arena, size_t bytes);
void arenas_remove(const void *arena, size_t bytes);

/* Bytes of all that are mapped. */
uint64_t arenas_get_bytes(void);

#endif
