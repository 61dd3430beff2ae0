/* build.c -- the collector's figures as a profile. Runs: in the collector process, one thread,
 * when one is wanted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stacks and modules come straight from the segment and are as hostile as the events: indices
 * are checked, loops of stacks are cut, strings are bounded. */
#include "collect/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pages.h"
#include "collect/build_deepest.h"
#include "collect/build_held.h"
#include "collect/build_mapped.h"
#include "collect/build_place.h"
#include "collect/build_sampled.h"
#include "collect/collector.h"
#include "collect/footprint.h"
#include "collect/lost.h"
#include "collect/naming.h"
#include "collect/obey.h"

#define OTHER_THREADS_NAME "(other threads)"

struct build {
	struct collector *c;
	struct profile *p;
	uint64_t now; /* ticks that the profile is as of */
	/* segment's node -> index in p->nodes; 0 not there, PLACE_OPEN on the way */
	uint32_t *places;
	uint32_t node_count;
	VEC(uint32_t) path;
	/* segment's named frame -> index in p->frames; 0 not there */
	uint32_t *named;
	uint32_t named_count;
};

#define PLACE_OPEN UINT32_MAX

static uint64_t to_ns(const struct build *b, uint64_t ticks)
{
	return ticks_to_ns(&b->c->clock, ticks);
}

/* Stamps outside of events are the target's word: nothing happens after now. */
static uint64_t to_bounded_ns(const struct build *b, uint64_t ticks)
{
	return to_ns(b, ticks < b->now ? ticks : b->now);
}

static uint64_t to_ns_unless_none(const struct build *b, uint64_t ticks)
{
	return ticks == UINT64_MAX ? UINT64_MAX : to_ns(b, ticks);
}

/* ---- texts and modules ----------------------------------------------------------------------- */

static struct string_id add_segment_string(struct build *b, uint32_t offset)
{
	char text[SEGMENT_MAP_TEXT_MAX];

	segment_map_copy_text(&b->c->map, offset, text);
	return profile_add_string(b->p, text);
}

static struct profile_module get_module(struct build *b, const struct segment_module *from)
{
	struct profile_module m = {
		.path = add_segment_string(b, read_once(from->path_offset)),
		.bias = read_once(from->bias),
		.map_start = read_once(from->map_start),
		.map_end = read_once(from->map_end),
		.load_time_ns = to_bounded_ns(b, read_once(from->load_ticks)),
		.build_id_bytes = read_once(from->build_id_bytes),
	};

	if (m.map_end < m.map_start)
		m.map_end = m.map_start;
	if (m.build_id_bytes > sizeof(m.build_id))
		m.build_id_bytes = sizeof(m.build_id);
	for (uint32_t i = 0; i < m.build_id_bytes; i++)
		m.build_id[i] = read_once(from->build_id[i]);
	return m;
}

/* Indices stay as they are; an entry that is not ready is left empty. */
static void build_modules(struct build *b)
{
	const struct segment_map *map = &b->c->map;
	uint32_t used = atomic_load_explicit(&map->header->modules_used, memory_order_acquire);

	for (uint32_t i = 1; i <= used && i < map->layout.module_count; i++) {
		const struct segment_module *from = &map->modules[i];
		struct profile_module module = {0};

		/* Pairs with the release that follows the last field. */
		if (atomic_load_explicit(&from->ready, memory_order_acquire) == 1)
			module = get_module(b, from);
		*vec_push(&b->p->modules) = module;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* All texts that an honest segment has fit twice; one that repeats parts of others is not believed
 * beyond that. */
static struct string_id add_bounded_string(struct build *b, uint32_t offset)
{
	if (b->p->strings.count > UINT64_C(2) * b->c->map.layout.string_bytes)
		return (struct string_id){0};
	return add_segment_string(b, offset);
}

static uint32_t add_frame(struct build *b, uint32_t index)
{
	const struct segment_named *from = &b->c->map.named[index];

	if (!b->named[index]) {
		struct profile_frame frame = {
			.function = add_bounded_string(b, read_once(from->function)),
			.file = add_bounded_string(b, read_once(from->file)),
			.line = read_once(from->line),
		};

		b->named[index] = (uint32_t)b->p->frames.count;
		*vec_push(&b->p->frames) = frame;
	}
	return b->named[index];
}

static struct profile_node get_named(struct build *b, uint32_t index)
{
	uint32_t kind = index < b->named_count ? read_once(b->c->map.named[index].kind) : 0;

	if (!index || kind == SEGMENT_NAMED_NONE || kind >= SEGMENT_NAMED_KINDS)
		return (struct profile_node){0};
	return (struct profile_node){.named = kind, .frames = add_frame(b, index)};
}

static uint32_t add_node(struct build *b, uint32_t id, uint32_t parent)
{
	uint32_t word = read_once(b->c->map.nodes[id].place);
	struct profile_node *node = vec_push(&b->p->nodes);

	if (word & SEGMENT_NODE_NAMED)
		*node = get_named(b, word & SEGMENT_NODE_PLACE_MASK);
	else
		*node = build_place(&b->c->map, b->p, word);
	node->parent = parent;
	return (uint32_t)b->p->nodes.count - 1;
}

/* Up from the node to the first that is there already, or the root; then down again, so that
 * every parent comes before its children. A node met twice on the way up closes a loop: the
 * stack is cut there. */
static uint32_t place_node(struct build *b, uint32_t id)
{
	b->path.count = 0;
	while (id && id < b->node_count && !b->places[id]) {
		b->places[id] = PLACE_OPEN;
		*vec_push(&b->path) = id;
		id = segment_map_get_parent(&b->c->map, id);
	}

	uint32_t parent = id < b->node_count ? b->places[id] : 0;
	if (parent == PLACE_OPEN)
		parent = 0;
	for (size_t i = b->path.count; i-- > 0;)
		parent = b->places[b->path.at[i]] = add_node(b, b->path.at[i], parent);
	return parent;
}

/* Of a table, with its index 0. */
static uint32_t get_count(_Atomic uint32_t *used_at, uint32_t most)
{
	uint32_t used = atomic_load_explicit(used_at, memory_order_acquire);

	return used < most ? used + 1 : most;
}

/* ---- sites ----------------------------------------------------------------------------------- */

/* 0 for what is no single thread. */
static uint32_t get_serial(const struct build *b, uint32_t thread)
{
	const struct threads *threads = &b->c->account.threads;

	return thread < threads->list.count ? threads->list.at[thread].serial : 0;
}

static struct profile_site get_site(struct build *b, struct site *site, const struct peak *peak)
{
	struct profile_site made = build_held(&site->held, peak, &b->c->clock);

	made.node = place_node(b, site->node);
	made.thread = get_serial(b, site->thread);
	made.temporary = site->temporary;
	made.reallocations = site->reallocations;
	return made;
}

/* Room in a vector that becomes big at one go. */
#define reserve_big(v, more) \
	(vec_reserve(v, more), pages_advise((v)->at, (v)->room * sizeof(*(v)->at)))

static void build_map_sites(struct build *b)
{
	struct mapped *m = b->c->account.mapped;

	for (size_t i = 0; m && i < m->sites.list.count; i++) {
		struct site site = m->sites.list.at[i];
		uint32_t kind = site.node % SEGMENT_MAP_KINDS;

		site.node /= SEGMENT_MAP_KINDS;
		struct profile_site *out = vec_push(&b->p->map_sites);
		*out = get_site(b, &site, &m->peak);
		out->kind = kind;
	}
}

static void build_sites(struct build *b)
{
	struct sites *sites = &b->c->account.sites;

	const struct segment_map *map = &b->c->map;

	b->node_count = get_count(&map->header->nodes_used, map->layout.node_count);
	b->places = mem_new(b->node_count, sizeof(b->places[0]));
	b->named_count = get_count(&map->header->named_used, map->layout.named_count);
	b->named = mem_new(b->named_count, sizeof(b->named[0]));
	reserve_big(&b->p->nodes, b->node_count);
	reserve_big(&b->p->sites, sites->list.count);
	for (size_t i = 0; i < sites->list.count; i++)
		*vec_push(&b->p->sites) = get_site(b, &sites->list.at[i], &b->c->account.peak);
	build_map_sites(b);
	vec_free(&b->path);
	free(b->places);
	free(b->named);
}

static struct profile_part get_part(struct build *b, uint64_t key, struct part *part)
{
	parts_settle(part, &b->c->account.peak);
	return (struct profile_part){
		.site = (uint32_t)(key >> 32),
		.thread = get_serial(b, (uint32_t)key),
		.allocations = part->allocations,
		.allocated_bytes = part->allocated_bytes,
		.frees = part->frees,
		.freed_bytes = part->freed_bytes,
		.live_blocks = part->allocations - part->frees,
		.live_bytes = part->allocated_bytes - part->freed_bytes,
		.at_peak_blocks = part->at_peak_blocks,
		.at_peak_bytes = part->at_peak_bytes,
		.temporary = part->temporary,
	};
}

static int compare_parts(const void *a, const void *b)
{
	const struct profile_part *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static void build_parts(struct build *b)
{
	struct parts *parts = &b->c->account.parts;

	vec_reserve(&b->p->parts, parts->list.count);
	for (size_t i = 0; i < parts->list.count; i++)
		*vec_push(&b->p->parts) = get_part(b, parts->keys.at[i], &parts->list.at[i]);
	if (b->p->parts.count)
		qsort(b->p->parts.at, b->p->parts.count, sizeof(b->p->parts.at[0]), compare_parts);
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint64_t get_end_ns(const struct build *b, const struct thread *t)
{
	if (t->end_ticks == UINT64_MAX)
		return UINT64_MAX;
	return to_bounded_ns(b, t->end_ticks > t->start_ticks ? t->end_ticks : t->start_ticks);
}

static struct profile_thread get_thread(struct build *b, struct thread *t)
{
	struct holding *held = &t->held;

	holding_settle(held, &b->c->account.peak);
	return (struct profile_thread){
		.tid = t->shared ? 0 : t->tid,
		.serial = t->serial,
		.name = profile_add_string(b->p, t->shared ? OTHER_THREADS_NAME : t->name),
		.start_ns = to_bounded_ns(b, t->start_ticks),
		.end_ns = get_end_ns(b, t),
		.allocations = held->allocations,
		.allocated_bytes = held->allocated_bytes,
		.frees = t->frees,
		.freed_bytes = t->freed_bytes,
		.temporary = t->temporary,
		.reallocations = t->reallocations,
		.failed_allocations = t->failed_allocations,
		.live_blocks = holding_get_blocks(held),
		.live_bytes = holding_get_bytes(held),
		.own_peak_bytes = held->own_peak_bytes,
		.own_peak_time_ns = to_ns(b, held->own_peak_ticks),
		.at_peak_bytes = held->at_peak_bytes,
		.at_peak_blocks = held->at_peak_blocks,
		.lifetime_min_ns = to_ns_unless_none(b, held->life_min),
		.lifetime_max_ns = to_ns(b, held->life_max),
		.lifetime_sum_ns = to_ns(b, held->life_sum),
		.size_min = held->size_min,
		.size_max = held->size_max,
		.losses = t->losses,
		.stack_reserved_bytes = t->stack.reserved_bytes,
		.stack_resident_bytes = t->stack.resident_bytes,
		.stack_deepest_bytes = t->stack.deepest_bytes,
	};
}

/* Losses of a thread that has a slot are as the slot says now, and so is the name that it had at
 * its end. */
static void add_open_slot(struct build *b, uint32_t slot, struct stream_losses *sum)
{
	uint32_t index = b->c->account.actors[slot].thread;
	struct thread *thread = &b->c->account.threads.list.at[index];
	struct profile_thread *out = &b->p->threads.at[index];
	struct stream_losses losses = {0};

	streams_add_losses(&losses, &b->c->map.slots[slot].losses);
	streams_sum_losses(sum, &losses);
	out->failed_allocations += losses.failed_allocations;
	out->losses += losses.lost_events + losses.reentrant_calls;
	if (thread->shared || !streams_has_last_name(&b->c->streams, slot))
		return;
	streams_read_name(&b->c->streams, slot, thread->name);
	out->name = profile_add_string(b->p, thread->name);
}

static void add_open_slots(struct build *b, struct stream_losses *sum)
{
	const struct streams *s = &b->c->streams;

	for (uint32_t slot = 1; slot <= s->used; slot++)
		if (s->at[slot].state == STREAM_OPEN || s->at[slot].state == STREAM_ENDING)
			add_open_slot(b, slot, sum);
}

static int compare_serials(const void *a, const void *b)
{
	const struct profile_thread *x = a, *y = b;

	return (x->serial > y->serial) - (x->serial < y->serial);
}

/* `sum` gets the losses of threads that have a slot. The record for all further threads has the
 * highest serial. */
static void build_threads(struct build *b, struct stream_losses *sum)
{
	struct threads *threads = &b->c->account.threads;

	account_settle_threads(&b->c->account);
	vec_reserve(&b->p->threads, threads->list.count);
	for (size_t i = 0; i < threads->list.count; i++)
		*vec_push(&b->p->threads) = get_thread(b, &threads->list.at[i]);
	add_open_slots(b, sum);
	build_sampled_threads(&b->c->account, b->p);
	if (b->p->threads.count)
		qsort(b->p->threads.at, b->p->threads.count, sizeof(b->p->threads.at[0]),
		      compare_serials);
}

/* ---- series, totals, run --------------------------------------------------------------------- */

static void build_series(struct build *b)
{
	const struct account *a = &b->c->account;
	struct profile_point last = account_get_point(a, b->now);

	series_build(&a->series, &last, &a->sites, b->p);
	for (size_t i = 0; i < b->p->points.count; i++) {
		b->p->points.at[i].time_ns = to_ns(b, b->p->points.at[i].time_ns);
		if (!a->trace) /* it may have had one: see collect_freeze */
			b->p->points.at[i].events = 0;
	}
}

/* Only how things are now: what the resident size was last seen to be is in no other table. */
static void build_last_point(struct build *b)
{
	struct profile_point *last = vec_push(&b->p->points);

	*last = account_get_point(&b->c->account, b->now);
	last->time_ns = to_ns(b, last->time_ns);
	last->events = 0;
}

static void build_snapshots(struct build *b)
{
	const struct account *a = &b->c->account;

	for (size_t i = 0; i < a->snapshots.count; i++) {
		const struct snapshot *from = &a->snapshots.at[i];

		*vec_push(&b->p->snapshots) = (struct profile_snapshot){
			.name = profile_add_string(b->p, from->name),
			.point = a->series.pins.at[i],
			.thread = get_serial(b, from->thread),
			.time_ns = to_ns(b, from->ticks),
			.live_bytes = from->live_bytes,
			.live_blocks = from->live_blocks,
		};
	}
	b->p->totals.lost_snapshots = a->lost_snapshots;
}

static void build_losses(struct build *b, struct stream_losses *sum)
{
	const struct account *a = &b->c->account;
	struct profile_totals *t = &b->p->totals;

	streams_sum_losses(sum, &b->c->streams.retired);
	streams_add_losses(sum, &b->c->map.header->losses);
	t->lost_events = sum->lost_events + b->c->streams.broken + a->missed_frees;
	t->truncated_stacks = sum->truncated_stacks;
	t->unwind_failures = sum->unwind_failures;
	t->foreign_frees = a->foreign_frees;
	t->untracked_frees = a->untracked_frees;
	t->reentrant_calls = sum->reentrant_calls;
	t->failed_allocations = sum->failed_allocations;
}

static void build_totals(struct build *b)
{
	const struct account *a = &b->c->account;
	struct profile_totals *t = &b->p->totals;
	struct account_totals sum = account_get_totals(a);

	t->allocations = sum.allocations;
	t->frees = sum.frees;
	t->allocated_bytes = sum.allocated_bytes;
	t->freed_bytes = sum.freed_bytes;
	t->peak_bytes = a->peak.bytes;
	t->peak_blocks = a->peak.blocks;
	t->peak_time_ns = to_ns(b, a->peak.ticks);
	t->leaked_bytes = a->peak.live_bytes;
	t->leaked_blocks = a->peak.live_blocks;
	t->threads = threads_get_count(&a->threads);
	t->stacks = a->sites.list.count;
	t->rss_peak_bytes = b->c->watch.rss_peak_bytes;
	t->own_memory_bytes = footprint_get(b->c);
	t->arena_bytes = atomic_load(&b->c->map.header->arena_bytes);
	t->arena_peak_bytes = atomic_load(&b->c->map.header->arena_peak_bytes);
	t->small_bytes = a->small.live_bytes;
	t->small_peak_bytes = a->small.peak_bytes;
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		t->api_calls[i] = a->api_calls[i];
	for (size_t i = 0; i < a->threads.list.count; i++) {
		t->temporary_allocations += a->threads.list.at[i].temporary;
		t->reallocations += a->threads.list.at[i].reallocations;
	}
}

static uint32_t find_small(const struct collector *c)
{
	switch (atomic_load_explicit(&c->map.header->small, memory_order_relaxed)) {
	case SEGMENT_SMALL_HOOKED:
		return c->mode == SEGMENT_MODE_SAMPLE || c->account.small_terms.period
			       ? PROFILE_SMALL_SAMPLED
			       : PROFILE_SMALL_EXACT;
	case SEGMENT_SMALL_MALLOC:
		return PROFILE_SMALL_MALLOC;
	case SEGMENT_SMALL_MIMALLOC:
		return PROFILE_SMALL_UNSEEN;
	default:
		return PROFILE_SMALL_NONE;
	}
}

static void build_run(struct build *b)
{
	const struct collector *c = b->c;
	struct profile_run *run = &b->p->run;

	run->machine = profile_add_string(b->p, naming_get_machine(c->hello.machine));
	run->mode = profile_add_string(b->p, naming_get_mode(c->mode));
	run->start_unix_ns = c->clock.base_unix_ns;
	run->duration_ns = to_ns(b, b->now);
	run->cleared_ns = to_ns(b, c->account.cleared_ticks);
	run->stopped_ns = to_ns(b, obey_get_off_ticks(&c->account, b->now));
	run->page_bytes = c->watch.page_bytes;
	run->pid = (uint32_t)c->hello.pid;
	run->parent_pid = (uint32_t)c->hello.parent_pid;
	run->exit_code = -1;
	run->small_objects = find_small(c);
	if (c->account.trace) {
		run->clock_ticks = c->clock.span_ticks;
		run->clock_ns = c->clock.span_ns;
	}
	run->children_not_recorded =
		c->follow ? 0
			  : atomic_load_explicit(&c->map.header->children, memory_order_relaxed);
}

static struct profile *build(struct collector *c, bool brief)
{
	struct build b = {.c = c, .p = profile_new()};
	struct stream_losses losses = {0};

	if (!c->end_ticks)
		ticks_calibrate(&c->clock);
	b.now = collector_get_time(c);
	build_run(&b);
	build_modules(&b);
	build_sites(&b);
	if (!brief)
		build_parts(&b);
	build_threads(&b, &losses);
	if (brief) {
		build_last_point(&b);
	} else {
		build_series(&b);
		build_snapshots(&b);
		build_deepest(c, b.p);
		survey_build(c, b.p);
		objects_build(&c->objects, b.p, to_ns(&b, c->objects.ticks));
	}
	build_totals(&b);
	build_losses(&b, &losses);
	tag_counts_build(&c->tags, &c->map, b.p);
	if (c->mode == SEGMENT_MODE_TAGS)
		tag_counts_add_totals(b.p);
	lifetimes_build(&c->account.lifetimes, b.p);
	lost_build(c, b.p);
	build_sampled(&c->account, b.p);
	build_mapped(c, b.p);
	return b.p;
}

struct profile *collect_build_profile(struct collector *c)
{
	return build(c, false);
}

struct profile *collect_build_brief(struct collector *c)
{
	return build(c, true);
}
