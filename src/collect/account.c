/* account.c -- what each event does to the figures. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/account.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/account_sampled.h"
#include "collect/obey.h"
#include "collect/pools.h"
#include "format/wire.h"

#define FIRST_INTERVAL_NS UINT64_C(1000000)

/* What runs for every event is one piece of code: a call here costs as much as the work it does. */
#define HOT inline __attribute__((always_inline))
/* And what hardly ever runs is kept out of it. */
#define COLD __attribute__((noinline, cold))

void account_init(struct account *a, const struct ticks *clock, uint32_t slot_count)
{
	*a = (struct account){.clock = clock};
	live_init(&a->live);
	a->parts.most = PARTS_MAX;
	a->threads.most = THREADS_MAX;
	series_init(&a->series, ticks_from_ns(clock, FIRST_INTERVAL_NS));
	a->actors = mem_new(slot_count, sizeof(a->actors[0]));
	a->texts = mem_new(slot_count, sizeof(a->texts[0]));
	a->slot_count = slot_count;
}

void account_fini(struct account *a)
{
	live_fini(&a->live);
	sites_fini(&a->sites);
	parts_fini(&a->parts);
	threads_fini(&a->threads);
	series_fini(&a->series);
	sampling_free(a->sampling);
	mapped_free(a->mapped);
	free(a->actors);
	obey_fini(a);
	vec_free(&a->snapshots);
}

struct thread *account_open_thread(struct account *a, uint32_t slot, uint32_t serial)
{
	account_settle_threads(a); /* they may be two from now on */

	uint32_t index = threads_reserve(&a->threads, serial);
	struct thread *thread = &a->threads.list.at[index];

	a->actors[slot] = (struct actor){.thread = index};
	if (a->sampling)
		account_sampled_open(a, slot, serial);
	if (!thread->shared) {
		a->actors[slot].last_ptr = thread->last_ptr;
		a->actors[slot].last_ticks = thread->last_ticks;
	}
	return thread;
}

/* A block in the middle of a realloc stays counted: nobody said that it was given back. */
void account_close_thread(struct account *a, uint32_t slot)
{
	struct actor *by = &a->actors[slot];
	struct thread *thread = &a->threads.list.at[by->thread];

	thread->last_ptr = by->last_ptr;
	thread->last_ticks = by->last_ticks;
	if (a->sampling)
		sampling_close(a->sampling, slot, by->thread);
	*by = (struct actor){0};
	a->texts[slot].bytes = 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct account_totals account_get_totals(const struct account *a)
{
	struct account_totals t = {0};

	if (account_sampled_is_all(a))
		return account_sampled_get_totals(a);
	lifetimes_sum(&a->lifetimes, &t.allocations, &t.allocated_bytes);
	t.frees = t.allocations - a->peak.live_blocks;
	t.freed_bytes = t.allocated_bytes - a->peak.live_bytes;
	return t;
}

/* While there is one thread, what it holds is all there is, and no event spends time on it. */
static inline bool has_one_thread(const struct account *a)
{
	return a->threads.list.count == 1 && !a->sampling;
}

/* What it holds then follows from the totals, the peak and the sites. */
static struct holding get_all(const struct account *a)
{
	struct account_totals t = account_get_totals(a);
	struct holding all;

	holding_init(&all);
	all.allocations = t.allocations;
	all.allocated_bytes = t.allocated_bytes;
	all.frees = t.frees;
	all.freed_bytes = t.freed_bytes;
	all.peak_seen = a->peak.number;
	all.own_peak_bytes = all.at_peak_bytes = a->peak.bytes;
	all.own_peak_ticks = a->peak.ticks;
	all.at_peak_blocks = a->peak.blocks;
	for (size_t i = 0; i < a->sites.list.count; i++)
		holding_widen(&all, &a->sites.list.at[i].held);
	return all;
}

void account_settle_threads(struct account *a)
{
	if (has_one_thread(a))
		a->threads.list.at[0].held = get_all(a);
}

/* ---- time ------------------------------------------------------------------------------------ */

struct profile_point account_get_point(const struct account *a, uint64_t ticks)
{
	const struct peak mapped = a->mapped ? a->mapped->peak : (struct peak){0};
	struct account_totals t = account_get_totals(a);

	return (struct profile_point){
		.time_ns = ticks,
		.live_bytes = a->peak.live_bytes,
		.live_blocks = a->peak.live_blocks,
		.peak_bytes = a->peak.span_bytes,
		.allocations = t.allocations,
		.allocated_bytes = t.allocated_bytes,
		.frees = t.frees,
		.freed_bytes = t.freed_bytes,
		.rss_bytes = a->rss_bytes,
		.events = a->trace ? trace_write_get_count(a->trace) : 0,
		.mapped_bytes = mapped.live_bytes,
		.mapped_count = mapped.live_blocks,
		.mapped_peak_bytes = mapped.span_bytes,
	};
}

void account_add_point(struct account *a, uint64_t ticks)
{
	struct profile_point point = account_get_point(a, ticks);

	if (a->sampling)
		account_sampled_smooth(a, &point);
	series_add(&a->series, &point, &a->sites);
	a->peak.span_bytes = a->peak.live_bytes;
	if (a->mapped)
		a->mapped->peak.span_bytes = a->mapped->peak.live_bytes;
}

/* Two points where time jumps: the state since the first held until the last. */
static void cross_points(struct account *a, uint64_t ticks)
{
	account_add_point(a, a->series.next);

	uint64_t last = ticks / a->series.interval * a->series.interval;
	if (last >= a->series.next)
		account_add_point(a, last);
	series_skip(&a->series, ticks);
}

void account_pass_time(struct account *a, uint64_t ticks)
{
	if (ticks >= a->series.next)
		cross_points(a, ticks);
}

/* ---- shares of threads ----------------------------------------------------------------------- */

COLD void account_split_site(struct account *a, uint32_t index)
{
	struct site *site = &a->sites.list.at[index];
	struct holding *held = &site->held;

	holding_settle(held, &a->peak);
	const struct part whole = {
		.allocations = held->allocations,
		.allocated_bytes = held->allocated_bytes,
		.frees = held->frees,
		.freed_bytes = held->freed_bytes,
		.peak_seen = held->peak_seen,
		.at_peak_bytes = held->at_peak_bytes,
		.at_peak_blocks = held->at_peak_blocks,
		.temporary = site->temporary,
	};
	parts_split(&a->parts, index, site->thread, &whole);
	site->thread = SITES_SHARED;
}

/* Before the site has the block. Out of line, as the next one: most sites are one thread's. */
static __attribute__((noinline)) void enter_part(struct account *a, const struct live_block *block)
{
	if (a->sites.list.at[block->site].thread != SITES_SHARED)
		account_split_site(a, block->site);
	struct part *part = parts_reserve(&a->parts, block->site, block->thread);
	parts_settle(part, &a->peak);
	part->allocations++;
	part->allocated_bytes += block->size;
}

static __attribute__((noinline)) void leave_part(struct account *a, const struct live_block *block)
{
	struct part *part = parts_get(&a->parts, block->site, block->thread);

	parts_settle(part, &a->peak);
	part->frees++;
	part->freed_bytes += block->size;
}

/* ---- trace ----------------------------------------------------------------------------------- */

#define NOBODY UINT32_MAX

/* What is written to the trace of a block that came or went. */
struct deed {
	uint64_t ticks;
	uint32_t thread; /* index, or NOBODY */
	uint32_t kind;	 /* enum wire_event; 0: there is no trace, known when this was compiled */
};

static COLD void log_deed(struct account *a, const struct live_block *block, struct deed deed)
{
	const struct threads *threads = &a->threads;

	*trace_write_reserve(a->trace) = (struct trace_event){
		.time_ns = deed.ticks,
		.address = block->ptr,
		.size = block->size,
		.site = block->site,
		.thread = deed.thread == NOBODY ? 0 : threads->list.at[deed.thread].serial,
		.kind = deed.kind,
	};
}

/* ---- blocks come and go ---------------------------------------------------------------------- */

static HOT void enter(struct account *a, const struct live_block *block, uint8_t api, uint32_t kind)
{
	struct site *site = sites_touch(&a->sites, block->site);

	if (!has_one_thread(a)) {
		if (site->thread != block->thread)
			enter_part(a, block);
		holding_add(&a->threads.list.at[block->thread].held, &a->peak, block->size,
			    block->ticks);
	}
	holding_add(&site->held, &a->peak, block->size, block->ticks);
	lifetimes_add(&a->lifetimes, block->size);
	a->api_calls[api]++;
	peak_add(&a->peak, block->size, block->ticks);
	if (kind && a->trace)
		log_deed(a, block, (struct deed){block->ticks, block->thread, kind});
}

static HOT void leave(struct account *a, const struct live_block *block, struct deed deed)
{
	struct site *site = sites_touch(&a->sites, block->site);
	uint64_t life = deed.ticks > block->ticks ? deed.ticks - block->ticks : 0;

	holding_remove(&site->held, &a->peak, block->size, life);
	if (!has_one_thread(a)) {
		if (site->thread != block->thread)
			leave_part(a, block);
		holding_remove(&a->threads.list.at[block->thread].held, &a->peak, block->size,
			       life);
	}
	lifetimes_remove(&a->lifetimes, block->size, ticks_to_rough_ns(a->clock, life));
	peak_remove(&a->peak, block->size);
	if (deed.kind && a->trace)
		log_deed(a, block, deed);
}

COLD void account_miss_free(struct account *a, const struct live_block *stale, uint64_t ticks)
{
	if (account_is_sample(stale))
		account_sampled_leave(a, stale, ticks);
	else
		leave(a, stale, (struct deed){ticks, NOBODY, WIRE_EVENT_MISSED_FREE});
	a->missed_frees++;
}

/* A free that deed.thread asked for. */
static HOT void give_back(struct account *a, const struct live_block *block, struct deed deed)
{
	struct thread *thread = &a->threads.list.at[deed.thread];

	thread->frees++;
	thread->freed_bytes += block->size;
	leave(a, block, deed);
}

/* The stamp tells the block from a later one at the same address. */
static inline bool is_temporary(const struct actor *by, const struct live_block *block)
{
	return by->last_ptr == block->ptr && by->last_ticks == block->ticks;
}

/* Not by realloc: that is never the end of something temporary. */
static HOT void give_back_plainly(struct account *a, struct actor *by,
				  const struct live_block *block, struct deed deed)
{
	if (is_temporary(by, block)) {
		struct site *site = &a->sites.list.at[block->site];

		by->last_ptr = 0;
		site->temporary++;
		if (site->thread != block->thread)
			parts_get(&a->parts, block->site, block->thread)->temporary++;
		a->threads.list.at[by->thread].temporary++;
	}
	give_back(a, block, deed);
}

/* The place of a block whose free was never seen, for the one that is there now. */
static COLD struct live_block *replace(struct account *a, const struct event *e)
{
	struct live_block *stale = live_find(&a->live, e->hash, e->ptr);

	account_miss_free(a, stale, e->ticks);
	return stale;
}

/* Puts the event's block into the table, and a copy into `made`: one that no store can change in
 * the eyes of the compiler. False, with nothing done, if the address is taken and `force` is not
 * set. */
static HOT bool put(struct account *a, const struct event *e, bool force, struct live_block *made)
{
	struct live_block *block = live_add(&a->live, e->hash, e->ptr);
	struct actor *by = &a->actors[e->slot];

	if (!block && !force)
		return false;
	if (!block)
		block = replace(a, e);
	*made = (struct live_block){
		.ptr = e->ptr,
		.ticks = e->ticks,
		.size = e->size,
		.site = sites_reserve(&a->sites, a->is_choosy ? obey_get_node(a, e) : e->node,
				      by->thread),
		.thread = by->thread,
	};
	*block = *made;
	by->last_ptr = made->ptr;
	by->last_ticks = made->ticks;
	return true;
}

void account_enter_again(struct account *a, const struct live_block *block, uint64_t ticks)
{
	struct live_block again = *block;

	again.ticks = ticks;
	if (account_is_sample(block))
		account_sampled_enter_again(a, block, ticks);
	else
		enter(a, &again, SEGMENT_API_OTHER, WIRE_EVENT_ALLOCATION);
}

void account_leave_for_now(struct account *a, const struct live_block *block, const struct event *e)
{
	uint32_t thread = a->actors[e->slot].thread;

	if (account_is_sample(block))
		account_sampled_give_back(a, e, block);
	else
		give_back(a, block, (struct deed){e->ticks, thread, WIRE_EVENT_FREE});
}

/* A block that is not to be recorded. Another one at its address was freed unseen. */
static COLD void drop_arrival(struct account *a, const struct event *e)
{
	const struct live_block *stale = live_remove(&a->live, e->hash, e->ptr);

	if (stale) {
		struct live_block gone = *stale;

		account_miss_free(a, &gone, e->ticks);
	}
}

/* The free of a block that is not in the table: once recording was off, there are such. */
static COLD void count_unknown(struct account *a, const struct event *e)
{
	if ((a->pools.count && pools_free(a, e)) || e->api & SEGMENT_FREE_PYTHON)
		return;
	if (a->was_off)
		a->untracked_frees++;
	else
		a->foreign_frees++;
}

/* ---- events ---------------------------------------------------------------------------------- */

static HOT bool apply_alloc(struct account *a, const struct event *e, bool force, bool traced)
{
	struct live_block block;

	if (a->is_choosy && obey_leaves_out(a, e)) {
		drop_arrival(a, e);
		return true;
	}
	if (LIVE_RARELY(e->api == SEGMENT_API_PYTHON) && a->small_terms.period)
		return account_sampled_add_small(a, e, force);
	if (!put(a, e, force, &block))
		return false;
	enter(a, &block, e->api, traced ? WIRE_EVENT_ALLOCATION : 0);
	if (LIVE_RARELY(e->api == SEGMENT_API_PYTHON))
		small_add(&a->small, e->size, 1);
	return true;
}

static HOT bool apply_free(struct account *a, const struct event *e, bool force, bool traced)
{
	const struct live_block *found = live_remove(&a->live, e->hash, e->ptr);

	if (!found) {
		if (force)
			count_unknown(a, e);
		return force;
	}
	struct live_block gone = *found;
	struct actor *by = &a->actors[e->slot];
	if (LIVE_RARELY(account_is_sample(&gone))) {
		account_sampled_give_back(a, e, &gone);
		return true;
	}
	if (LIVE_RARELY(e->api & SEGMENT_FREE_PYTHON))
		small_remove(&a->small, gone.size, 1);
	give_back_plainly(a, by, &gone,
			  (struct deed){e->ticks, by->thread, traced ? WIRE_EVENT_FREE : 0});
	return true;
}

/* Back under its address as it was, unless another block has come there since. */
static void put_back(struct account *a, struct actor *by, uint64_t ticks)
{
	struct live_block old = by->resizing;

	if (!old.ptr)
		return;
	by->resizing.ptr = 0;
	struct live_block *block = live_add(&a->live, live_hash(old.ptr), old.ptr);
	if (block)
		*block = old;
	else
		account_miss_free(a, &old, ticks);
}

static bool apply_resize(struct account *a, const struct event *e, bool force)
{
	struct actor *by = &a->actors[e->slot];
	const struct live_block *found = live_remove(&a->live, e->hash, e->ptr);
	struct live_block old = found ? *found : (struct live_block){0};

	if (!found && !force)
		return false;
	if (!found)
		count_unknown(a, e);
	put_back(a, by, e->ticks);     /* only a damaged stream has one left over */
	if (account_is_sample(&old)) { /* so has one that resizes a sample */
		account_miss_free(a, &old, e->ticks);
		return true;
	}
	if (e->api & SEGMENT_FREE_PYTHON)
		small_remove(&a->small, old.size, found ? 1 : 0);
	by->resizing = old;
	return true;
}

static void apply_resize_freed(struct account *a, const struct event *e)
{
	struct actor *by = &a->actors[e->slot];

	if (by->resizing.ptr)
		give_back_plainly(a, by, &by->resizing,
				  (struct deed){e->ticks, by->thread, WIRE_EVENT_FREE});
	by->resizing.ptr = 0;
}

static bool apply_resized(struct account *a, const struct event *e, bool force)
{
	struct actor *by = &a->actors[e->slot];
	struct live_block block;

	if (a->is_choosy && obey_leaves_out(a, e)) {
		apply_resize_freed(a, e);
		drop_arrival(a, e);
		return true;
	}
	if (!put(a, e, force, &block))
		return false;
	bool is_new = !by->resizing.ptr && a->was_off; /* what it was came unseen */
	if (by->resizing.ptr)			       /* goes first: the peak does not hold both */
		give_back(a, &by->resizing,
			  (struct deed){e->ticks, by->thread, WIRE_EVENT_RESIZE_FREE});
	by->resizing.ptr = 0;
	enter(a, &block, e->api, is_new ? WIRE_EVENT_ALLOCATION : WIRE_EVENT_RESIZE_ALLOCATION);
	if (e->api == SEGMENT_API_PYTHON)
		small_add(&a->small, e->size, 1);
	if (is_new)
		return true;
	a->sites.list.at[block.site].reallocations++;
	a->threads.list.at[block.thread].reallocations++;
	return true;
}

/* False, with nothing done, if the state of the block contradicts the event and `force` is not
 * set. */
static bool apply_rare(struct account *a, const struct event *e, bool force)
{
	switch (e->kind) {
	case SEGMENT_EVENT_RESIZE:
		return apply_resize(a, e, force);
	case SEGMENT_EVENT_RESIZED:
		return apply_resized(a, e, force);
	case SEGMENT_EVENT_RESIZE_FAILED:
		put_back(a, &a->actors[e->slot], e->ticks);
		return true;
	case SEGMENT_EVENT_NAME:
	case SEGMENT_EVENT_MARK:
	case SEGMENT_EVENT_ORDER:
		obey_event(a, e);
		return true;
	case SEGMENT_EVENT_RESIZE_FREED:
		apply_resize_freed(a, e);
		return true;
	case SEGMENT_EVENT_MAP:
		mapped_apply(a, e);
		return true;
	default: /* PERIOD, THINNED: not of a target that was not asked for samples */
		return !a->sampling || account_sampled_apply(a, e, force);
	}
}

/* `traced` is a constant where this is inlined: without a trace no event pays for one. */
static HOT bool apply(struct account *a, const struct event *e, bool force, bool traced)
{
	if (e->kind == SEGMENT_EVENT_ALLOC)
		return apply_alloc(a, e, force, traced);
	if (e->kind == SEGMENT_EVENT_FREE)
		return apply_free(a, e, force, traced);
	return apply_rare(a, e, force);
}

static uint32_t apply_traced(struct account *a, const struct event *events, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		account_pass_time(a, events[i].ticks);
		if (!apply(a, &events[i], false, true))
			break;
	}
	return i;
}

static uint32_t apply_untraced(struct account *a, const struct event *events, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		account_pass_time(a, events[i].ticks);
		if (!apply(a, &events[i], false, false))
			break;
	}
	return i;
}

uint32_t account_apply(struct account *a, const struct event *events, uint32_t count)
{
	uint32_t handled;

	if (account_sampled_is_all(a))
		handled = account_sampled_apply_all(a, events, count);
	else if (a->trace)
		handled = apply_traced(a, events, count);
	else
		handled = apply_untraced(a, events, count);

	a->events += handled;
	return handled;
}

void account_force(struct account *a, const struct event *e)
{
	(void)(account_sampled_is_all(a) ? account_sampled_apply(a, e, true)
					 : apply(a, e, true, true));
	a->events++;
}
