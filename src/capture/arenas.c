/* arenas.c -- the memory that Python's own allocator cuts small objects out of.
 * Runs: any thread of the target, inside Python's allocator.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In a fork child all of it holds: the arenas are there too. */
#include "capture/arenas.h"

#include <sys/mman.h>
#include <sys/syscall.h>

struct arenas_window arenas_windows[ARENAS_WINDOWS];
static _Atomic uint64_t all_bytes;
static _Atomic bool is_opening;

uint64_t arenas_get_bytes(void)
{
	return atomic_load_explicit(&all_bytes, memory_order_relaxed);
}

bool arenas_has_elsewhere(uint64_t address)
{
	const struct arenas_window *w = arenas_find(address);

	return w && arenas_has_in(w, address);
}

static _Atomic uint64_t *map_pages(void)
{
	long at = HOST_CALL6(SYS_mmap, 0, ARENAS_PAGES / 8, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (_Atomic uint64_t *)at; /* NOLINT */
}

/* Makes a window, which was not there a moment ago. One thread at a time: another one's arena goes
 * unknown, once in the life of several interpreters that each have a lock of their own. */
static const struct arenas_window *open_window(uint64_t address)
{
	const uint64_t number = arenas_number(address);
	struct arenas_window *free = NULL;
	_Atomic uint64_t *pages;

	if (atomic_exchange_explicit(&is_opening, true, memory_order_acquire))
		return NULL;
	for (uint32_t i = 0; i < ARENAS_WINDOWS && !free; i++) {
		struct arenas_window *w = &arenas_windows[(number + i) % ARENAS_WINDOWS];

		if (!atomic_load_explicit(&w->number, memory_order_relaxed))
			free = w;
	}
	if (free && (pages = map_pages())) {
		atomic_store_explicit(&free->pages, pages, memory_order_relaxed);
		/* Pairs with the acquire in arenas_find. */
		atomic_store_explicit(&free->number, number, memory_order_release);
	} else {
		free = NULL;
	}
	atomic_store_explicit(&is_opening, false, memory_order_release);
	return free;
}

static void set_page(const struct arenas_window *w, uint64_t address, bool on)
{
	uint32_t page = (uint32_t)(address >> ARENAS_PAGE_SHIFT) % ARENAS_PAGES;
	_Atomic uint64_t *pages = atomic_load_explicit(&w->pages, memory_order_relaxed);
	uint64_t bit = UINT64_C(1) << page % 64;

	if (on)
		atomic_fetch_or_explicit(&pages[page / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&pages[page / 64], ~bit, memory_order_relaxed);
}

void arenas_add(const void *arena, size_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)arena;

	for (size_t at = 0; at < bytes; at += 1u << ARENAS_PAGE_SHIFT) {
		const struct arenas_window *w = arenas_find(address + at);

		if (!w)
			w = open_window(address + at);
		if (w)
			set_page(w, address + at, true);
	}
	atomic_fetch_add_explicit(&all_bytes, bytes, memory_order_relaxed);
}

void arenas_remove(const void *arena, size_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)arena;

	for (size_t at = 0; at < bytes; at += 1u << ARENAS_PAGE_SHIFT) {
		const struct arenas_window *w = arenas_find(address + at);

		if (w)
			set_page(w, address + at, false);
	}
	uint64_t seen = arenas_get_bytes();
	while (!atomic_compare_exchange_weak_explicit(&all_bytes, &seen,
						      seen > bytes ? seen - bytes : 0,
						      memory_order_relaxed, memory_order_relaxed))
		continue;
}
