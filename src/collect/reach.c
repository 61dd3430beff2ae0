/* reach.c -- which blocks can still be reached, over which others, and which are lost.
 * Runs: in the collector process, one thread; pure but for what the caller lends it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PULSE_STEPS 65536u
#define UNSEEN	    REACH_CLASSES
#define SPAN_SHIFT  20u
#define CELL_LEAST  6u /* of its shift: there are hardly any smaller blocks */

/* ---- blocks ---------------------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
	const struct reach_block *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Blocks that overlap cannot be: the target is lying, or an event was lost. The earlier one ends
 * where the later one starts. */
static void cut_overlaps(struct reach *r)
{
	for (size_t i = 0; i + 1 < r->blocks.count; i++) {
		uint64_t room = r->blocks.at[i + 1].start - r->blocks.at[i].start;

		if (r->blocks.at[i].size > room)
			r->blocks.at[i].size = room;
	}
}

/* ---- finding them ---------------------------------------------------------------------------- */

/* Where a span's key is, or the empty place for it. */
static size_t find_place(const struct reach *r, uint64_t span)
{
	size_t mask = r->span_room - 1;
	size_t place = (size_t)((span * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

	while (r->spans[place].cells && r->spans[place].span != span)
		place = (place + 1) & mask;
	return place;
}

static size_t count_spans(const struct reach *r)
{
	size_t count = 0;

	for (size_t i = 0; i < r->blocks.count; i++)
		count += i == 0 || r->blocks.at[i].start >> SPAN_SHIFT !=
					   r->blocks.at[i - 1].start >> SPAN_SHIFT;
	return count;
}

/* A cell for each block, or half as many. */
static unsigned choose_shift(size_t blocks, size_t spans)
{
	unsigned shift = SPAN_SHIFT;

	while (shift > CELL_LEAST && spans << (SPAN_SHIFT - shift) < blocks)
		shift--;
	return shift;
}

static size_t get_cell(const struct reach *r, const struct reach_span *span, uint64_t address)
{
	return span->cells - 1 + ((address & ((UINT64_C(1) << SPAN_SHIFT) - 1)) >> r->cell_shift);
}

/* All cells from the last one that was set to this one are this block's. */
static void fill_cells(struct reach *r, uint64_t *next, uint64_t last, size_t block)
{
	while (*next <= last)
		r->cells[(*next)++] = (uint32_t)block;
}

/* By cell, the first block that starts there or later: one access where a search among all would
 * take twenty. */
static void build_index(struct reach *r)
{
	size_t spans = count_spans(r);
	uint64_t next = 0, used = 0;

	r->cell_shift = choose_shift(r->blocks.count, spans);
	uint64_t each = UINT64_C(1) << (SPAN_SHIFT - r->cell_shift);
	r->span_room = 16;
	while (r->span_room < spans * 2)
		r->span_room *= 2;
	r->spans = mem_new(r->span_room, sizeof(*r->spans));
	r->cells = mem_new(spans * each + 1, sizeof(*r->cells));
	for (size_t i = 0; i < r->blocks.count; i++) {
		uint64_t start = r->blocks.at[i].start;
		struct reach_span *at = &r->spans[find_place(r, start >> SPAN_SHIFT)];

		if (!at->cells) {
			fill_cells(r, &next, used * each, i); /* of the span before */
			next = used * each;
			*at = (struct reach_span){start >> SPAN_SHIFT, used++ * each + 1};
		}
		fill_cells(r, &next, get_cell(r, at, start), i);
	}
	fill_cells(r, &next, spans * each, r->blocks.count);
}

void reach_sort(struct reach *r)
{
	if (r->blocks.count)
		qsort(r->blocks.at, r->blocks.count, sizeof(r->blocks.at[0]), compare_blocks);
	cut_overlaps(r);
	build_index(r);
}

/* The last block in [low, low + count) that starts at the address or before it; the first one must.
 */
static size_t find_last(const struct reach *r, uint64_t address, size_t low, size_t count)
{
	while (count > 1) {
		size_t half = count / 2;

		low += r->blocks.at[low + half].start <= address ? half : 0;
		count -= half;
	}
	return low;
}

/* The same from a block near it on. */
static size_t find_near(const struct reach *r, uint64_t address, size_t low)
{
	size_t step = 1;

	while (low + step < r->blocks.count && r->blocks.at[low + step].start <= address)
		step *= 2;
	size_t most = r->blocks.count - low;
	return find_last(r, address, low, step < most ? step : most);
}

/* `near` is the first block that starts in the address's cell or later; NULL: there is no cell. */
static uint32_t find_from(const struct reach *r, uint64_t address, const uint32_t *near)
{
	const struct reach_block *blocks = r->blocks.at;
	size_t at;

	if (!r->blocks.count || address < blocks[0].start)
		return REACH_NONE;
	if (!near)
		at = find_last(r, address, 0, r->blocks.count);
	else if (*near == r->blocks.count || blocks[*near].start > address)
		at = *near - 1; /* there is one, as the address is not before all */
	else
		at = find_near(r, address, *near);
	uint64_t offset = address - blocks[at].start;
	if (offset == 0)
		return (uint32_t)at;
	return offset < blocks[at].size ? (uint32_t)at | REACH_INSIDE : REACH_NONE;
}

static const uint32_t *find_cell(const struct reach *r, uint64_t address)
{
	const struct reach_span *span = &r->spans[find_place(r, address >> SPAN_SHIFT)];

	return span->cells ? &r->cells[get_cell(r, span, address)] : NULL;
}

uint32_t reach_find(const struct reach *r, uint64_t address)
{
	return find_from(r, address, find_cell(r, address));
}

/* There are few spans, which stay in the cache; cells and blocks do not. */
static void find_some(const struct reach *r, const uint64_t *addresses, uint32_t *found,
		      size_t count)
{
	const uint32_t *cells[REACH_AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		cells[i] = find_cell(r, addresses[i]);
		if (cells[i])
			__builtin_prefetch(cells[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (!cells[i])
			continue;
		__builtin_prefetch(&r->blocks.at[*cells[i]]);
		__builtin_prefetch(&r->blocks.at[*cells[i]] - 1);
	}
	for (size_t i = 0; i < count; i++)
		found[i] = find_from(r, addresses[i], cells[i]);
}

void reach_find_many(const struct reach *r, const uint64_t *addresses, uint32_t *found,
		     size_t count)
{
	for (size_t i = 0; i < count; i += REACH_AT_ONCE)
		find_some(r, addresses + i, found + i,
			  count - i < REACH_AT_ONCE ? count - i : REACH_AT_ONCE);
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
	struct reach *reach;
	size_t next; /* in `order`: those before it have been looked at */
	size_t steps;
	VEC(struct reach_doubt) doubts;
};

static void beat(struct walk *w)
{
	if (++w->steps % PULSE_STEPS == 0 && w->reach->pulse)
		w->reach->pulse(w->reach->context);
}

static void mark(struct walk *w, uint32_t block, uint32_t holder, enum reach_class class)
{
	struct reach *r = w->reach;

	r->classes[block] = (uint8_t) class;
	r->holders[block] = holder;
	*vec_push(&r->order) = block;
}

/* A pointer of a holder that is itself held. */
static void follow_held(struct walk *w, uint32_t target, uint32_t holder, uint32_t inside)
{
	struct reach *r = w->reach;
	uint32_t block = target & ~REACH_INSIDE;

	if (r->classes[block] != UNSEEN)
		return;
	if (target & REACH_INSIDE)
		*vec_push(&w->doubts) = (struct reach_doubt){block, holder, inside};
	else
		mark(w, block, holder, REACH_HELD);
}

static void spread_held(struct walk *w)
{
	struct reach *r = w->reach;

	for (; w->next < r->order.count; w->next++) {
		uint32_t block = r->order.at[w->next];

		for (uint64_t i = r->firsts.at[block]; i < r->firsts.at[block + 1]; i++)
			follow_held(w, r->targets.at[i], block, r->insides.at[i]);
		beat(w);
	}
}

/* Some pointers to the inside are as good as others. What such a block leads to may bring further
 * ones. */
static void settle_doubts(struct walk *w)
{
	struct reach *r = w->reach;

	for (size_t i = 0; r->accepts && i < w->doubts.count; i++) {
		struct reach_doubt d = w->doubts.at[i]; /* they may move */

		beat(w);
		if (r->classes[d.target] != UNSEEN || !r->accepts(r->context, &d))
			continue;
		mark(w, d.target, d.holder, REACH_HELD);
		spread_held(w);
	}
}

static void spread(struct walk *w, enum reach_class class)
{
	struct reach *r = w->reach;

	for (; w->next < r->order.count; w->next++) {
		uint32_t block = r->order.at[w->next];

		for (uint64_t i = r->firsts.at[block]; i < r->firsts.at[block + 1]; i++) {
			uint32_t target = r->targets.at[i] & ~REACH_INSIDE;

			if (r->classes[target] == UNSEEN)
				mark(w, target, block, class);
		}
		beat(w);
	}
}

static void find_interior(struct walk *w)
{
	struct reach *r = w->reach;

	for (size_t i = 0; i < w->doubts.count; i++)
		if (r->classes[w->doubts.at[i].target] == UNSEEN)
			mark(w, w->doubts.at[i].target, w->doubts.at[i].holder, REACH_INTERIOR);
	spread(w, REACH_INTERIOR);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

struct block_list {
	VEC(uint32_t) all;
};

/* All that a block leads to is seen from here on. */
static void see(struct walk *w, uint32_t first, uint8_t *seen, struct block_list *stack)
{
	const struct reach *r = w->reach;

	seen[first] = 1;
	*vec_push(&stack->all) = first;
	while (stack->all.count) {
		uint32_t block = stack->all.at[--stack->all.count];

		for (uint64_t i = r->firsts.at[block]; i < r->firsts.at[block + 1]; i++) {
			uint32_t target = r->targets.at[i] & ~REACH_INSIDE;

			if (r->classes[target] != UNSEEN || seen[target])
				continue;
			seen[target] = 1;
			*vec_push(&stack->all) = target;
		}
		beat(w);
	}
}

/* As few as possible that lead to all others: first some, each of which no earlier one led to; of
 * those the last one for sure, and so on backwards, as no later one leads to them. Of a circle it
 * is the one with the lowest address, unless something leads into the circle. */
static void find_lost(struct walk *w)
{
	struct reach *r = w->reach;
	uint8_t *seen = mem_new(r->blocks.count + 1, 1);
	struct block_list stack = {0}, leaders = {0};

	for (uint32_t i = 0; i < r->blocks.count; i++) {
		if (r->classes[i] != UNSEEN || seen[i])
			continue;
		*vec_push(&leaders.all) = i;
		see(w, i, seen, &stack);
	}
	for (size_t i = leaders.all.count; i-- > 0;) {
		if (r->classes[leaders.all.at[i]] != UNSEEN)
			continue;
		mark(w, leaders.all.at[i], REACH_NONE, REACH_DEFINITE);
		spread(w, REACH_INDIRECT);
	}
	vec_free(&stack.all);
	vec_free(&leaders.all);
	free(seen);
}

void reach_run(struct reach *r)
{
	struct walk w = {.reach = r};
	size_t count = r->blocks.count;

	r->classes = mem_new(count + 1, 1);
	r->holders = mem_new(count + 1, sizeof(*r->holders));
	memset(r->classes, UNSEEN, count + 1);
	memset(r->holders, 0xff, (count + 1) * sizeof(*r->holders));
	for (uint32_t i = 0; i < r->roots.count; i++)
		follow_held(&w, r->roots.at[i].target, i | REACH_ROOT, r->roots.at[i].inside);
	spread_held(&w);
	settle_doubts(&w);
	find_interior(&w);
	find_lost(&w);
	vec_free(&w.doubts);
}

void reach_fini(struct reach *r)
{
	vec_free(&r->blocks);
	vec_free(&r->roots);
	vec_free(&r->firsts);
	vec_free(&r->targets);
	vec_free(&r->insides);
	vec_free(&r->order);
	free(r->spans);
	free(r->cells);
	free(r->classes);
	free(r->holders);
}
