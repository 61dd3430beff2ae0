/* mapped.c -- what each event about memory that the program maps itself does to the figures. Runs:
 * in the collector process, one thread, for each such event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/mapped.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collect/account.h"
#include "collect/obey.h"

#define RANGES_MOST (1u << 24) /* a quarter of what addresses of 47 bits have room for: damage */

enum { TAKEN_NOTHING, TAKEN_AWAY, TAKEN_TO_MOVE };

static struct mapped *mapped_new(uint32_t slot_count)
{
	struct mapped *m = mem_new(1, sizeof(*m));

	m->taken = mem_new(slot_count, sizeof(m->taken[0]));
	for (unsigned i = 0; i < SEGMENT_MAP_KINDS; i++)
		holding_init(&m->kinds[i]);
	return m;
}

void mapped_free(struct mapped *m)
{
	if (!m)
		return;
	ranges_fini(&m->ranges);
	vec_free(&m->maps);
	sites_fini(&m->sites);
	free(m->taken);
	free(m);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static uint32_t new_map(struct mapped *m, uint32_t site, uint64_t ticks)
{
	uint32_t index = m->unused;

	if (index) {
		m->unused = m->maps.at[--index].site;
	} else {
		index = (uint32_t)m->maps.count;
		(void)vec_push(&m->maps);
	}
	m->maps.at[index] = (struct mapped_map){.ticks = ticks, .site = site, .pieces = 1};
	return index;
}

static void note_split(void *context, uint32_t map)
{
	struct mapped *m = context;

	m->maps.at[map].pieces++;
}

static uint32_t get_kind(const struct mapped *m, uint32_t site)
{
	return m->sites.list.at[site].node % SEGMENT_MAP_KINDS;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* What the visitors of ranges need. */
struct passing {
	struct mapped *m;
	uint64_t ticks;
	bool is_news; /* the figures have started over since it went: they know of no going */
};

static void shrink(struct holding *h, const struct peak *p, uint64_t bytes)
{
	holding_settle(h, p);
	h->freed_bytes += bytes;
}

static void leave(void *context, const struct range *range)
{
	struct passing *by = context;
	struct mapped *m = by->m;
	struct mapped_map *map = &m->maps.at[range->map];
	struct holding *held = &m->sites.list.at[map->site].held;
	struct holding *kind = &m->kinds[get_kind(m, map->site)];
	uint64_t bytes = range->end - range->start;
	uint64_t life = by->ticks > map->ticks ? by->ticks - map->ticks : 0;

	map->in_hands++;
	if (--map->pieces == 0) {
		holding_remove(held, &m->peak, bytes, life);
		holding_remove(kind, &m->peak, bytes, life);
		peak_remove(&m->peak, bytes);
	} else {
		shrink(held, &m->peak, bytes);
		shrink(kind, &m->peak, bytes);
		peak_remove_many(&m->peak, bytes, 0);
	}
}

static void take_back(struct holding *h, uint64_t bytes, uint64_t blocks)
{
	h->freed_bytes -= bytes;
	h->frees -= blocks;
}

static void add_back(struct holding *h, uint64_t bytes, uint64_t blocks, uint64_t ticks)
{
	h->allocated_bytes += bytes;
	h->allocations += blocks;
	if (holding_get_bytes(h) > h->own_peak_bytes) {
		h->own_peak_bytes = holding_get_bytes(h);
		h->own_peak_ticks = ticks;
	}
}

/* The opposite, for what was not unmapped after all. */
static void come_back(void *context, const struct range *range)
{
	struct passing *by = context;
	struct mapped *m = by->m;
	struct mapped_map *map = &m->maps.at[range->map];
	struct holding *both[] = {&m->sites.list.at[map->site].held,
				  &m->kinds[get_kind(m, map->site)]};
	uint64_t bytes = range->end - range->start;
	bool was_gone = map->pieces++ == 0;

	map->in_hands--;
	for (unsigned i = 0; i < 2; i++) {
		holding_settle(both[i], &m->peak);
		if (by->is_news)
			add_back(both[i], bytes, was_gone, by->ticks);
		else
			take_back(both[i], bytes, was_gone);
	}
	peak_add_many(&m->peak, bytes, was_gone, by->ticks);
}

static void forget_map(void *context, const struct range *range)
{
	struct mapped *m = context;
	struct mapped_map *map = &m->maps.at[range->map];

	/* Not while other parts are there, or in the hands of a thread that may bring them back. */
	if (--map->in_hands || map->pieces)
		return;
	map->site = m->unused;
	m->unused = range->map + 1;
}

static void forget(struct mapped *m, struct range_tree tree)
{
	ranges_visit(&m->ranges, tree, forget_map, m);
	ranges_drop(&m->ranges, tree);
}

/* ---- what a thread has in its hands ---------------------------------------------------------- */

/* What it took is of no more interest; a move whose end nobody told has not happened. */
static void let_go(struct mapped *m, uint32_t slot)
{
	struct mapped_taken *taken = &m->taken[slot];

	if (taken->state == TAKEN_TO_MOVE)
		ranges_put_back(&m->ranges, taken->tree);
	else if (taken->state == TAKEN_AWAY)
		forget(m, taken->tree);
	taken->state = TAKEN_NOTHING;
}

static struct range_tree take(struct mapped *m, uint64_t start, uint64_t bytes)
{
	return ranges_take(&m->ranges, start, start + bytes, note_split, m);
}

static void remove_range(struct mapped *m, const struct event *e, uint64_t bytes)
{
	struct passing by = {.m = m, .ticks = e->ticks};
	struct mapped_taken *taken = &m->taken[e->slot];

	taken->tree = take(m, e->ptr, bytes);
	taken->state = TAKEN_AWAY;
	taken->clears = m->clears;
	ranges_visit(&m->ranges, taken->tree, leave, &by);
	m->unknown += taken->tree.root == 0;
}

static void detach(struct mapped *m, const struct event *e)
{
	const struct range *found = ranges_find(&m->ranges, e->ptr);

	if (found && get_kind(m, m->maps.at[found->map].site) == SEGMENT_MAP_SHARED)
		remove_range(m, e, found->end - found->start);
	else
		m->unknown++;
}

static void keep(struct mapped *m, const struct event *e)
{
	struct mapped_taken *taken = &m->taken[e->slot];
	struct passing by = {m, e->ticks, taken->clears != m->clears};

	if (taken->state == TAKEN_AWAY) {
		ranges_visit(&m->ranges, taken->tree, come_back, &by);
		ranges_put_back(&m->ranges, taken->tree);
	}
	taken->state = TAKEN_NOTHING;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static uint32_t find_site(struct account *a, const struct event *e, uint32_t kind)
{
	struct mapped *m = a->mapped;
	uint32_t node = (uint32_t)e->hash, thread = a->actors[e->slot].thread;
	uint32_t site = sites_reserve(&m->sites, node * SEGMENT_MAP_KINDS + kind, thread);

	if (m->sites.list.at[site].thread != thread)
		m->sites.list.at[site].thread = SITES_SHARED;
	return site;
}

/* Whatever was there is there no more. */
static void clear_way(struct mapped *m, const struct event *e)
{
	struct passing by = {.m = m, .ticks = e->ticks};
	struct range_tree old = take(m, e->ptr, e->size);

	ranges_visit(&m->ranges, old, leave, &by);
	forget(m, old);
}

static struct site *add_map(struct account *a, const struct event *e, uint32_t kind)
{
	struct mapped *m = a->mapped;

	clear_way(m, e);
	if ((a->is_choosy && obey_is_off(a, e->slot)) || e->size == 0)
		return NULL;
	if (m->ranges.all.count >= RANGES_MOST) {
		m->lost++;
		return NULL;
	}
	uint32_t index = find_site(a, e, kind);
	struct site *site = &m->sites.list.at[index];
	ranges_add(&m->ranges, e->ptr, e->ptr + e->size, new_map(m, index, e->ticks));
	holding_add(&site->held, &m->peak, e->size, e->ticks);
	holding_add(&m->kinds[kind], &m->peak, e->size, e->ticks);
	peak_add(&m->peak, e->size, e->ticks);
	return site;
}

static void note_kind(void *context, const struct range *range)
{
	struct passing *by = context;

	by->ticks = get_kind(by->m, by->m->maps.at[range->map].site);
}

/* As a realloc: the old one goes first, so that the peak does not hold both. */
static void finish_move(struct account *a, const struct event *e)
{
	struct mapped *m = a->mapped;
	struct mapped_taken *taken = &m->taken[e->slot];
	struct passing kind = {.m = m, .ticks = SEGMENT_MAP_ANONYMOUS};
	struct passing by = {.m = m, .ticks = e->ticks};
	bool was_known = taken->state == TAKEN_TO_MOVE && taken->tree.root != 0;

	if (was_known) {
		ranges_visit(&m->ranges, taken->tree, note_kind, &kind);
		ranges_visit(&m->ranges, taken->tree, leave, &by);
		forget(m, taken->tree);
	}
	taken->state = TAKEN_NOTHING;
	struct site *site = add_map(a, e, (uint32_t)kind.ticks);
	if (site && was_known) {
		site->reallocations++;
		m->moved++;
	}
}

static void begin_move(struct mapped *m, const struct event *e)
{
	m->taken[e->slot].tree = take(m, e->ptr, e->size);
	m->taken[e->slot].state = TAKEN_TO_MOVE;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_answer(const struct event *e)
{
	return e->api == SEGMENT_MAP_KEPT || e->api == SEGMENT_MAP_MOVED ||
	       e->api == SEGMENT_MAP_MOVE_FAILED;
}

static void apply(struct account *a, const struct event *e)
{
	struct mapped *m = a->mapped;

	switch (e->api) {
	case SEGMENT_MAP_ADDED:
		(void)add_map(a, e, (uint32_t)(e->hash >> 32));
		break;
	case SEGMENT_MAP_REMOVED:
		remove_range(m, e, e->size);
		break;
	case SEGMENT_MAP_DETACHED:
		detach(m, e);
		break;
	case SEGMENT_MAP_KEPT:
		keep(m, e);
		break;
	case SEGMENT_MAP_MOVE:
		begin_move(m, e);
		break;
	case SEGMENT_MAP_MOVED:
		finish_move(a, e);
		break;
	case SEGMENT_MAP_MOVE_FAILED:
		let_go(m, e->slot);
		m->failed++;
		break;
	default: /* FAILED: the reader lets no other call through */
		m->failed++;
	}
}

void mapped_apply(struct account *a, const struct event *e)
{
	uint32_t thread = a->actors[e->slot].thread;

	if (!a->mapped)
		a->mapped = mapped_new(a->slot_count);
	struct mapped_taken *taken = &a->mapped->taken[e->slot];
	if (!is_answer(e) || taken->thread != thread)
		let_go(a->mapped, e->slot);
	taken->thread = thread;
	if (e->ptr + e->size >= e->ptr)
		apply(a, e);
}

/* ---- figures that start over ----------------------------------------------------------------- */

static void clear_holding(struct holding *h, uint64_t ticks)
{
	uint64_t bytes = holding_get_bytes(h), blocks = holding_get_blocks(h);

	holding_init(h);
	h->allocations = blocks;
	h->allocated_bytes = h->own_peak_bytes = bytes;
	h->own_peak_ticks = ticks;
}

void mapped_clear(struct mapped *m, uint64_t ticks)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->sites.list.count; i++) {
		clear_holding(&m->sites.list.at[i].held, ticks);
		m->sites.list.at[i].reallocations = 0;
	}
	for (unsigned i = 0; i < SEGMENT_MAP_KINDS; i++)
		clear_holding(&m->kinds[i], ticks);
	m->peak.bytes = m->peak.span_bytes = m->peak.live_bytes;
	m->peak.blocks = m->peak.live_blocks;
	m->peak.ticks = ticks;
	m->peak.number++;
	m->moved = m->failed = m->unknown = 0;
	m->clears++;
}
