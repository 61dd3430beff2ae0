/* named.c -- frames of stacks that have a name and no address, by number; lock-free.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/named.h"

#include "capture/host.h"

static _Atomic uint32_t *root_of(const struct named *n, const struct segment_named *wanted)
{
	uint64_t hash = wanted->function * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ hash >> 32 ^ wanted->line) * UINT64_C(0xff51afd7ed558ccd);
	return &n->roots[hash >> 32 & (SEGMENT_NAMED_ROOTS - 1)];
}

static bool is_same(const struct segment_named *a, const struct segment_named *b)
{
	return a->kind == b->kind && a->function == b->function && a->file == b->file &&
	       a->line == b->line;
}

/* Looks through a chain from `first` up to, but not with, `last`. */
static uint32_t find_between(const struct named *n, uint32_t first, uint32_t last,
			     const struct segment_named *wanted)
{
	for (uint32_t i = first; i != last; i = n->at[i].next)
		if (is_same(&n->at[i], wanted))
			return i;
	return 0;
}

static uint32_t reserve(const struct named *n)
{
	/* Not fetch_add: a full table must not wrap around. */
	uint32_t used = atomic_load_explicit(n->used, memory_order_relaxed);

	while (used + 1 < n->count) {
		if (atomic_compare_exchange_weak_explicit(
			    n->used, &used, used + 1, memory_order_relaxed, memory_order_relaxed))
			return used + 1;
	}
	return 0;
}

/* Links `fresh`, or finds that another thread was first. */
static uint32_t link_or_find(const struct named *n, _Atomic uint32_t *root, uint32_t first,
			     uint32_t fresh)
{
	for (;;) {
		uint32_t before = first;

		n->at[fresh].next = first;
		/* Pairs with the acquire in named_add: what is linked has its fields. */
		if (atomic_compare_exchange_strong_explicit(
			    root, &first, fresh, memory_order_acq_rel, memory_order_acquire))
			return fresh;
		uint32_t found = find_between(n, first, before, &n->at[fresh]);
		if (found)
			return found; /* the number that was reserved stays unused */
	}
}

uint32_t named_add(const struct named *n, const struct segment_named *wanted)
{
	_Atomic uint32_t *root = root_of(n, wanted);
	uint32_t first = atomic_load_explicit(root, memory_order_acquire);
	uint32_t index = find_between(n, first, 0, wanted);

	if (!index) {
		index = reserve(n);
		if (!index)
			return 0;
		n->at[index] = *wanted;
		index = link_or_find(n, root, first, index);
	}
	return index | SEGMENT_NODE_NAMED;
}

struct named named_get(void)
{
	char *base = (char *)process->header;

	return (struct named){
		.roots = (_Atomic uint32_t *)(void *)(base + process->layout.named_roots_offset),
		.at = (struct segment_named *)(void *)(base + process->layout.named_offset),
		.used = &process->header->named_used,
		.count = process->layout.named_count,
	};
}
