/* pcs.c -- pieces of code that were seen on stacks, by number; lock-free.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/pcs.h"

#include "capture/host.h"

static inline _Atomic uint32_t *root_of(const struct pcs *p, uint64_t address)
{
	return &p->roots[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 &
			 (SEGMENT_PLACE_ROOTS - 1)];
}

/* Looks through a chain from `first` up to, but not with, `last`. */
static uint32_t find_between(const struct pcs *p, uint32_t first, uint32_t last,
			     const struct segment_place *wanted)
{
	for (uint32_t i = first; i != last; i = p->at[i].next)
		if (p->at[i].address == wanted->address && p->at[i].module == wanted->module)
			return i;
	return 0;
}

uint32_t pcs_find(const struct pcs *p, uint64_t address, uint32_t module)
{
	const struct segment_place wanted = {.address = address, .module = module};
	/* Pairs with the release in pcs_add: what is linked has its fields. */
	uint32_t first = atomic_load_explicit(root_of(p, address), memory_order_acquire);

	return find_between(p, first, 0, &wanted);
}

static uint32_t reserve(const struct pcs *p)
{
	/* Not fetch_add: a full table must not wrap around. */
	uint32_t used = atomic_load_explicit(p->used, memory_order_relaxed);

	while (used + 1 < p->count) {
		if (atomic_compare_exchange_weak_explicit(
			    p->used, &used, used + 1, memory_order_relaxed, memory_order_relaxed))
			return used + 1;
	}
	return 0;
}

uint32_t pcs_add(const struct pcs *p, const struct segment_place *wanted)
{
	_Atomic uint32_t *root = root_of(p, wanted->address);
	uint32_t first = atomic_load_explicit(root, memory_order_acquire);
	uint32_t found = find_between(p, first, 0, wanted);

	if (found)
		return found;
	uint32_t fresh = reserve(p);
	if (!fresh)
		return 0;
	p->at[fresh] = *wanted;
	for (;;) {
		uint32_t before = first;

		p->at[fresh].next = first;
		if (atomic_compare_exchange_strong_explicit(
			    root, &first, fresh, memory_order_acq_rel, memory_order_acquire))
			return fresh;
		/* Others came first: one of them may have brought the same. The number that was
		 * reserved then stays unused. */
		found = find_between(p, first, before, wanted);
		if (found)
			return found;
	}
}

struct pcs pcs_get(void)
{
	char *base = (char *)process->header;

	return (struct pcs){
		.roots = (_Atomic uint32_t *)(void *)(base + process->layout.place_roots_offset),
		.at = (struct segment_place *)(void *)(base + process->layout.places_offset),
		.used = &process->header->places_used,
		.count = process->layout.place_count,
	};
}
