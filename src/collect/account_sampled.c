/* account_sampled.c -- what each event does to the figures where blocks are sampled: as account.c,
 * with weights. Runs: in the collector process, one thread, for every event; they are few.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thinned sample changes its weight, or goes. Then its figures are put right as if it had had the
 * new weight from the start, but for peaks that are past. */
#include "collect/account_sampled.h"

#include "collect/collect.h"
#include "collect/obey.h"

uint64_t account_sampled_get_period(const struct collect_config *config)
{
	return config->mode == SEGMENT_MODE_EXACT ? config->small_period : config->sample_period;
}

void account_sampled_plan(struct account *a, const struct collect_config *config)
{
	const struct sampling_terms all = {.period = config->sample_period,
					   .seed = config->sample_seed};

	if (config->mode == SEGMENT_MODE_SAMPLE) {
		a->sampling = sampling_new(&all, a->slots, a->slot_count);
		a->threads.most = THREADS_SAMPLED_MAX;
	} else if (config->mode == SEGMENT_MODE_EXACT &&
		   config->pymalloc == SEGMENT_PYMALLOC_SAMPLED) {
		a->small_terms = (struct sampling_terms){.period = config->small_period,
							 .seed = config->sample_seed,
							 .partly = true};
	}
}

static struct sample *get_sample(const struct account *a, const struct live_block *block)
{
	return &a->sampling->samples.at[(uint32_t)block->size];
}

static void add_to_doubt(struct doubt *d, const struct weight *w, double sign)
{
	d->bytes += sign * w->bytes_variance;
	d->blocks += sign * w->blocks_variance;
	if (d->bytes < 0) /* what rounding leaves of nothing */
		d->bytes = 0;
	if (d->blocks < 0)
		d->blocks = 0;
}

static struct site_doubt *get_doubt(const struct account *a, const struct live_block *block)
{
	return sampling_get_doubt(a->sampling, block->site, &a->peak);
}

/* ---- blocks come and go ---------------------------------------------------------------------- */

static struct part *reserve_part(struct account *a, const struct live_block *block)
{
	if (a->sites.list.at[block->site].thread == block->thread)
		return NULL;
	if (a->sites.list.at[block->site].thread != SITES_SHARED)
		account_split_site(a, block->site);

	struct part *part = parts_reserve(&a->parts, block->site, block->thread);
	parts_settle(part, &a->peak);
	return part;
}

static void hold(struct holding *h, const struct peak *p, const struct sample *s, uint64_t ticks)
{
	holding_add(h, p, s->size, ticks);
	h->allocations += s->weight.blocks - 1;
	h->allocated_bytes += s->weight.bytes - s->size;
	if (holding_get_bytes(h) > h->own_peak_bytes) {
		h->own_peak_bytes = holding_get_bytes(h);
		h->own_peak_ticks = ticks;
	}
}

static void enter(struct account *a, const struct live_block *block)
{
	const struct sample *s = get_sample(a, block);
	const struct weight *w = &s->weight;
	struct part *part = reserve_part(a, block);
	struct site *site = sites_touch(&a->sites, block->site);
	struct site_doubt *doubt = get_doubt(a, block);

	if (part) {
		part->allocations += w->blocks;
		part->allocated_bytes += w->bytes;
	}
	hold(&a->threads.list.at[block->thread].held, &a->peak, s, block->ticks);
	hold(&site->held, &a->peak, s, block->ticks);
	add_to_doubt(&doubt->allocated, w, 1);
	add_to_doubt(&doubt->live, w, 1);
	lifetimes_add_many(&a->lifetimes, s->size, w->bytes, w->blocks);
	a->api_calls[s->api] += w->blocks;
	peak_add_many(&a->peak, w->bytes, w->blocks, block->ticks);
	if (s->api == SEGMENT_API_PYTHON)
		small_add(&a->small, w->bytes, w->blocks);
}

static uint64_t multiply(uint64_t life, uint64_t blocks)
{
	uint64_t product;

	return __builtin_mul_overflow(life, blocks, &product) ? UINT64_MAX : product;
}

static void let_go(struct holding *h, const struct peak *p, const struct sample *s, uint64_t life)
{
	uint64_t sum = h->life_sum;

	holding_remove(h, p, s->weight.bytes, life);
	h->frees += s->weight.blocks - 1;
	if (__builtin_add_overflow(sum, multiply(life, s->weight.blocks), &h->life_sum))
		h->life_sum = UINT64_MAX;
}

/* The block is gone, and so is its sample. */
void account_sampled_leave(struct account *a, const struct live_block *block, uint64_t ticks)
{
	const struct sample *s = get_sample(a, block);
	const struct weight *w = &s->weight;
	struct site *site = sites_touch(&a->sites, block->site);
	uint64_t life = ticks > block->ticks ? ticks - block->ticks : 0;

	if (site->thread != block->thread) {
		struct part *part = parts_get(&a->parts, block->site, block->thread);

		parts_settle(part, &a->peak);
		part->frees += w->blocks;
		part->freed_bytes += w->bytes;
	}
	let_go(&site->held, &a->peak, s, life);
	let_go(&a->threads.list.at[block->thread].held, &a->peak, s, life);
	add_to_doubt(&get_doubt(a, block)->live, w, -1);
	lifetimes_remove_many(&a->lifetimes, s->size, w->bytes, w->blocks,
			      ticks_to_rough_ns(a->clock, life));
	peak_remove_many(&a->peak, w->bytes, w->blocks);
	if (s->api == SEGMENT_API_PYTHON)
		small_remove(&a->small, w->bytes, w->blocks);
	sampling_remove(a->sampling, (uint32_t)block->size);
}

void account_sampled_give_back(struct account *a, const struct event *e,
			       const struct live_block *block)
{
	struct thread *by = &a->threads.list.at[a->actors[e->slot].thread];
	const struct weight *w = &get_sample(a, block)->weight;
	struct site *site = &a->sites.list.at[block->site];

	by->frees += w->blocks;
	by->freed_bytes += w->bytes;
	if (e->kind == SEGMENT_EVENT_FREE && (e->api & SEGMENT_FREE_TEMPORARY)) {
		site->temporary += w->blocks;
		if (site->thread != block->thread)
			parts_get(&a->parts, block->site, block->thread)->temporary += w->blocks;
		by->temporary += w->blocks;
		get_doubt(a, block)->temporary += w->blocks_variance;
	}
	account_sampled_leave(a, block, e->ticks);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct live_block *find_place(struct account *a, const struct event *e, bool force)
{
	struct live_block *block = live_add(&a->live, e->hash, e->ptr);

	if (block || !force)
		return block;
	block = live_find(&a->live, e->hash, e->ptr);
	account_miss_free(a, block, e->ticks);
	return block;
}

static void apply_resize_freed(struct account *a, const struct event *e)
{
	struct actor *by = &a->actors[e->slot];

	if (by->resizing.ptr)
		account_sampled_give_back(a, e, &by->resizing);
	by->resizing.ptr = 0;
}

static bool apply_alloc(struct account *a, const struct event *e, bool force)
{
	struct actor *by = &a->actors[e->slot];

	if (a->is_choosy && obey_leaves_out(a, e)) {
		if (e->kind == SEGMENT_EVENT_RESIZED)
			apply_resize_freed(a, e);
		return true;
	}
	struct live_block *block = find_place(a, e, force);

	if (!block)
		return false;
	uint64_t key = a->sampling->keys[e->slot]++;
	if (e->kind == SEGMENT_EVENT_RESIZED && by->resizing.ptr) {
		account_sampled_give_back(a, e, &by->resizing);
		by->resizing.ptr = 0;
	}
	struct sample sample = {
		.weight = weight_get(e->size, a->sampling->periods[e->slot], key),
		.size = e->size,
		.key = key,
		.api = e->api,
	};
	*block = (struct live_block){
		.ptr = e->ptr,
		.ticks = e->ticks,
		.size = ACCOUNT_SAMPLE | sampling_add(a->sampling, &sample),
		.site = sites_reserve(&a->sites, a->is_choosy ? obey_get_node(a, e) : e->node,
				      by->thread),
		.thread = by->thread,
	};
	struct live_block made = *block;
	enter(a, &made);
	if (e->kind == SEGMENT_EVENT_RESIZED) {
		a->sites.list.at[made.site].reallocations += sample.weight.blocks;
		a->threads.list.at[made.thread].reallocations += sample.weight.blocks;
	}
	return true;
}

/* The first one begins it all: from then on what threads hold is kept for each. */
bool account_sampled_add_small(struct account *a, const struct event *e, bool force)
{
	uint32_t thread = a->actors[e->slot].thread;

	if (!a->sampling) {
		account_settle_threads(a);
		a->sampling = sampling_new(&a->small_terms, a->slots, a->slot_count);
	}
	if (!a->sampling->periods[e->slot])
		sampling_open(a->sampling, e->slot, a->threads.list.at[thread].serial);
	return apply_alloc(a, e, force);
}

/* A free that comes after its block was thinned out is nothing strange. */
static bool apply_free(struct account *a, const struct event *e, bool force)
{
	const struct live_block *found = live_remove(&a->live, e->hash, e->ptr);

	if (!found)
		return force;
	struct live_block gone = *found;
	account_sampled_give_back(a, e, &gone);
	return true;
}

static void put_back(struct account *a, const struct event *e)
{
	struct actor *by = &a->actors[e->slot];
	struct live_block old = by->resizing;

	if (!old.ptr)
		return;
	by->resizing.ptr = 0;
	struct live_block *block = live_add(&a->live, live_hash(old.ptr), old.ptr);
	if (block)
		*block = old;
	else
		account_miss_free(a, &old, e->ticks);
}

static bool apply_resize(struct account *a, const struct event *e, bool force)
{
	const struct live_block *found = live_remove(&a->live, e->hash, e->ptr);
	struct live_block old = found ? *found : (struct live_block){0};

	if (!found && !force)
		return false;
	put_back(a, e); /* only a damaged stream has one left over */
	a->actors[e->slot].resizing = old;
	return true;
}

/* ---- thinning -------------------------------------------------------------------------------- */

/* As if the sample had never been: what `enter` did, undone. */
static void withdraw(struct account *a, const struct live_block *block)
{
	const struct sample *s = get_sample(a, block);
	const struct weight *w = &s->weight;
	struct part *part = reserve_part(a, block);
	struct site *site = sites_touch(&a->sites, block->site);
	struct holding *held = &site->held, *thread = &a->threads.list.at[block->thread].held;
	struct site_doubt *doubt = get_doubt(a, block);

	holding_settle(held, &a->peak);
	holding_settle(thread, &a->peak);
	held->allocations -= w->blocks;
	held->allocated_bytes -= w->bytes;
	thread->allocations -= w->blocks;
	thread->allocated_bytes -= w->bytes;
	if (part) {
		part->allocations -= w->blocks;
		part->allocated_bytes -= w->bytes;
	}
	add_to_doubt(&doubt->allocated, w, -1);
	add_to_doubt(&doubt->live, w, -1);
	lifetimes_add_many(&a->lifetimes, s->size, -w->bytes, -w->blocks);
	a->api_calls[s->api] -= w->blocks;
	peak_remove_many(&a->peak, w->bytes, w->blocks);
	if (s->api == SEGMENT_API_PYTHON)
		small_remove(&a->small, w->bytes, w->blocks);
}

static void apply_thinned(struct account *a, const struct event *e)
{
	struct live_block *found = live_find(&a->live, e->hash, e->ptr);

	if (!found || !account_is_sample(found) || e->size == 0 || e->size > SEGMENT_PERIOD_MAX)
		return;
	struct live_block block = *found;
	struct sample *s = get_sample(a, &block);
	withdraw(a, &block);
	if (e->size > a->sampling->longest_period)
		a->sampling->longest_period = e->size;
	if (e->api == SEGMENT_THINNED_KEPT) {
		s->weight = weight_get(s->size, e->size, s->key + e->size);
		enter(a, &block);
		return;
	}
	(void)live_remove(&a->live, e->hash, e->ptr);
	sampling_remove(a->sampling, (uint32_t)block.size);
}

/* ---- all ------------------------------------------------------------------------------------- */

bool account_sampled_apply(struct account *a, const struct event *e, bool force)
{
	switch (e->kind) {
	case SEGMENT_EVENT_ALLOC:
	case SEGMENT_EVENT_RESIZED:
		return apply_alloc(a, e, force);
	case SEGMENT_EVENT_FREE:
		return apply_free(a, e, force);
	case SEGMENT_EVENT_RESIZE:
		return apply_resize(a, e, force);
	case SEGMENT_EVENT_RESIZE_FAILED:
		put_back(a, e);
		return true;
	case SEGMENT_EVENT_RESIZE_FREED:
		apply_resize_freed(a, e);
		return true;
	case SEGMENT_EVENT_NAME:
	case SEGMENT_EVENT_MARK:
	case SEGMENT_EVENT_ORDER:
		obey_event(a, e);
		return true;
	case SEGMENT_EVENT_MAP:
		mapped_apply(a, e);
		return true;
	case SEGMENT_EVENT_PERIOD:
		sampling_set_period(a->sampling, e->slot, e->size);
		return true;
	default: /* SEGMENT_EVENT_THINNED: the reader lets no other kind through */
		apply_thinned(a, e);
		return true;
	}
}

uint32_t account_sampled_apply_all(struct account *a, const struct event *events, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		account_pass_time(a, events[i].ticks);
		if (!account_sampled_apply(a, &events[i], false))
			break;
	}
	return i;
}

/* ---- threads --------------------------------------------------------------------------------- */

void account_sampled_open(struct account *a, uint32_t slot, uint32_t serial)
{
	sampling_open(a->sampling, slot, serial);
	if (obey_is_off(a, slot))
		sampling_stop(a->sampling, slot, &(struct sampling_totals){0});
}

/* ---- figures that start over ----------------------------------------------------------------- */

void account_sampled_clear(struct account *a)
{
	a->sampling->doubts.count = 0;
	sampling_clear(a->sampling);
}

void account_sampled_enter_again(struct account *a, const struct live_block *block, uint64_t ticks)
{
	const struct weight *w = &get_sample(a, block)->weight;
	struct live_block again = *block;

	again.ticks = ticks;
	enter(a, &again);
	sampling_carry(a->sampling, block->thread, w->blocks, w->bytes);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* What the target counted is exact, and never goes back. What was freed is known by its number; its
 * bytes are what is no longer estimated to live. Once recording was off, the target cannot tell
 * whose blocks it frees: then their number is an estimate, too. */
struct account_totals account_sampled_get_totals(const struct account *a)
{
	struct sampling_totals sum = sampling_get_totals(a->sampling);
	struct account_totals t = {
		.allocations = sum.allocations,
		.allocated_bytes = sum.bytes,
		.frees = sum.frees,
	};

	if (t.allocated_bytes > a->peak.live_bytes)
		t.freed_bytes = t.allocated_bytes - a->peak.live_bytes;
	if (a->was_off)
		t.frees = t.allocations - at_most(a->peak.live_blocks, t.allocations);
	return t;
}

void account_sampled_smooth(struct account *a, struct profile_point *point)
{
	struct sampling *s = a->sampling;

	s->shown.allocations = at_least(point->allocations, s->shown.allocations);
	s->shown.bytes = at_least(point->allocated_bytes, s->shown.bytes);
	s->shown.frees = at_least(point->frees, s->shown.frees);
	s->shown_freed_bytes = at_least(point->freed_bytes, s->shown_freed_bytes);
	point->allocations = s->shown.allocations;
	point->allocated_bytes = s->shown.bytes;
	point->frees = s->shown.frees;
	point->freed_bytes = s->shown_freed_bytes;
}
