/* obey.c -- what the program orders while it is recorded: snapshots, switches, a fresh start,
 * answers. Runs: in the collector process, one thread, for the events that ask for it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/obey.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/clear.h"
#include "collect/keeping.h"
#include "collect/pools.h"
#include "collect/start.h"
#include "collect/tag_counts.h"

#define WRITES_MOST 65536u /* one for each thread that can wait; more is damage */

void obey_fini(struct account *a)
{
	for (uint32_t i = 0; i < a->slot_count; i++)
		free(a->texts[i].at);
	free(a->texts);
	for (size_t i = 0; i < a->writes.count; i++)
		free(a->writes.at[i].path);
	vec_free(&a->writes);
	vec_free(&a->leak_orders);
	vec_free(&a->look_orders);
	pools_fini(a);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Appends the three words of a piece; what is too long is cut. */
static void add_piece(struct text *text, const struct event *e)
{
	const uint64_t words[3] = {e->ptr, e->size, e->hash};
	size_t room = SEGMENT_TEXT_MAX - text->bytes;
	size_t bytes = sizeof(words) < room ? sizeof(words) : room;

	if (!text->at)
		text->at = mem_new(SEGMENT_TEXT_MAX + 1, 1);
	memcpy(text->at + text->bytes, words, bytes);
	text->bytes += (uint32_t)bytes;
	text->at[text->bytes] = '\0';
}

static void take_snapshot(struct account *a, const struct event *e)
{
	struct text *text = &a->texts[e->slot];

	add_piece(text, e);
	a->marks++;
	(void)keeping_take(a, e->ticks, text->at, a->actors[e->slot].thread);
	text->bytes = 0;
}

/* ---- switches -------------------------------------------------------------------------------- */

void obey_delay(struct account *a)
{
	a->switch_word = 1;
	a->is_choosy = a->was_off = true;
}

/* For how long it was off is counted where that ends. */
static void switch_all(struct account *a, uint64_t word)
{
	bool was_off = segment_switch_is_off(a->switch_word);

	if (word <= a->switch_word)
		return; /* a later one was faster */
	a->switch_word = word;
	if (!was_off && segment_switch_is_off(word))
		a->off_since = word >> 1;
	if (was_off && !segment_switch_is_off(word))
		a->off_ticks += (word >> 1) - a->off_since;
}

uint64_t obey_get_off_ticks(const struct account *a, uint64_t now)
{
	bool is_off = segment_switch_is_off(a->switch_word);

	return a->off_ticks + (is_off && now > a->off_since ? now - a->off_since : 0);
}

void obey_start(struct account *a, const struct event *e)
{
	if (!start_is_met(a->start, e->node))
		return;
	switch_all(a, e->ticks << 1);
	start_free(a->start);
	a->start = NULL;
}

/* What comes unseen may come between a block and its free: it is no longer temporary. */
static void forget_latest(struct account *a, uint32_t slot, bool all)
{
	for (uint32_t i = 0; i < a->slot_count; i++)
		if (all || i == slot)
			a->actors[i].last_ptr = 0;
}

/* What the thread in a slot had done at the time of an order, where calls are counted by the
 * target. Exact of the one that gave it; of others it is what they show by now. */
static struct sampling_totals get_done(const struct account *a, uint32_t slot,
				       const struct event *e)
{
	const struct text *text = &a->texts[e->slot];
	uint64_t words[SEGMENT_TOTALS];

	if (slot == e->slot && text->bytes >= sizeof(words)) {
		memcpy(words, text->at, sizeof(words));
		return sampling_unpack(words);
	}
	if (a->sampling->slots[slot].start_ticks > e->ticks)
		return (struct sampling_totals){0};
	return sampling_read(a->sampling, slot);
}

static void pause_counts(struct account *a, const struct event *e)
{
	struct sampling *s = a->sampling;

	for (uint32_t slot = 1; s && slot < s->used; slot++) {
		struct sampling_totals done = get_done(a, slot, e);

		if (!s->periods[slot])
			continue;
		if (obey_is_off(a, slot))
			sampling_stop(s, slot, &done);
		else
			sampling_start(s, slot, &done);
	}
}

static void obey_clear(struct account *a, const struct event *e)
{
	struct sampling *s = a->sampling;

	for (uint32_t slot = 1; s && slot < s->used; slot++) {
		struct sampling_totals done = get_done(a, slot, e);

		if (s->periods[slot])
			sampling_clear_slot(s, slot, &done);
	}
	clear_figures(a, e->ticks);
	a->clears++;
}

static void obey_switch(struct account *a, const struct event *e)
{
	uint64_t word = e->ticks << 1 | (e->ptr != 0);
	struct actor *by = &a->actors[e->slot];
	bool all = e->size != SEGMENT_SCOPE_THREAD;

	a->is_choosy = true;
	a->was_off = a->was_off || segment_switch_is_off(word);
	if (all)
		switch_all(a, word);
	else
		by->switch_word = segment_switch_later(by->switch_word, word);
	pause_counts(a, e);
	if (segment_switch_is_off(word))
		forget_latest(a, e->slot, all);
}

static void set_threshold(struct account *a, const struct event *e)
{
	if (e->ticks < a->threshold_ticks)
		return;
	a->threshold = e->ptr;
	a->threshold_ticks = e->ticks;
	a->is_choosy = a->is_choosy || e->ptr != 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

void obey_answer(struct account *a, uint32_t slot, uint32_t question, bool done)
{
	struct segment_slot *to = a->slots ? &a->slots[slot] : NULL;

	if (!to)
		return;
	to->done = done;
	/* Pairs with the target's acquire: figures and `done` are there. */
	atomic_store_explicit(&to->answered, question, memory_order_release);
	(void)syscall(SYS_futex, &to->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void fill_held(uint64_t *to, const struct holding *held)
{
	to[SEGMENT_FIGURE_ALLOCATIONS] = held->allocations;
	to[SEGMENT_FIGURE_FREES] = held->frees;
	to[SEGMENT_FIGURE_ALLOCATED_BYTES] = held->allocated_bytes;
	to[SEGMENT_FIGURE_FREED_BYTES] = held->freed_bytes;
	to[SEGMENT_FIGURE_LIVE_BYTES] = holding_get_bytes(held);
	to[SEGMENT_FIGURE_LIVE_BLOCKS] = holding_get_blocks(held);
	to[SEGMENT_FIGURE_PEAK_BYTES] = held->own_peak_bytes;
	to[SEGMENT_FIGURE_PEAK_BLOCKS] = held->at_peak_blocks;
}

static uint64_t subtract(uint64_t from, uint64_t value)
{
	return from > value ? from - value : 0;
}

/* In place of estimates; what is live stays one. */
static void fill_counted(const struct account *a, uint32_t slot, uint64_t *to)
{
	uint32_t thread = a->actors[slot].thread;
	struct sampling_totals sum = {0};

	if (thread < a->sampling->retired.count)
		sum = a->sampling->retired.at[thread];
	sampling_add_slot(a->sampling, slot, &sum);
	to[SEGMENT_FIGURE_ALLOCATIONS] = sum.allocations;
	to[SEGMENT_FIGURE_ALLOCATED_BYTES] = sum.bytes;
	to[SEGMENT_FIGURE_FREES] = subtract(sum.allocations, to[SEGMENT_FIGURE_LIVE_BLOCKS]);
	to[SEGMENT_FIGURE_FREED_BYTES] = subtract(sum.bytes, to[SEGMENT_FIGURE_LIVE_BYTES]);
	to[SEGMENT_FIGURE_REALLOCATIONS] = sum.reallocations;
}

static void fill_thread(struct account *a, uint32_t slot, uint64_t *to)
{
	struct thread *thread = &a->threads.list.at[a->actors[slot].thread];

	account_settle_threads(a);
	holding_settle(&thread->held, &a->peak);
	fill_held(to, &thread->held);
	to[SEGMENT_FIGURE_TEMPORARY_ALLOCATIONS] = thread->temporary;
	to[SEGMENT_FIGURE_REALLOCATIONS] = thread->reallocations;
	to[SEGMENT_FIGURE_THREADS] = 1;
	if (a->sampling)
		fill_counted(a, slot, to);
}

static void fill_all(const struct account *a, uint64_t *to)
{
	struct account_totals sum = account_get_totals(a);

	to[SEGMENT_FIGURE_ALLOCATIONS] = sum.allocations;
	to[SEGMENT_FIGURE_FREES] = sum.frees;
	to[SEGMENT_FIGURE_ALLOCATED_BYTES] = sum.allocated_bytes;
	to[SEGMENT_FIGURE_FREED_BYTES] = sum.freed_bytes;
	to[SEGMENT_FIGURE_LIVE_BYTES] = a->peak.live_bytes;
	to[SEGMENT_FIGURE_LIVE_BLOCKS] = a->peak.live_blocks;
	to[SEGMENT_FIGURE_PEAK_BYTES] = a->peak.bytes;
	to[SEGMENT_FIGURE_PEAK_BLOCKS] = a->peak.blocks;
	for (size_t i = 0; i < a->threads.list.count; i++) {
		to[SEGMENT_FIGURE_TEMPORARY_ALLOCATIONS] += a->threads.list.at[i].temporary;
		to[SEGMENT_FIGURE_REALLOCATIONS] += a->threads.list.at[i].reallocations;
	}
	to[SEGMENT_FIGURE_FOREIGN_FREES] = a->foreign_frees;
	to[SEGMENT_FIGURE_UNTRACKED_FREES] = a->untracked_frees;
	to[SEGMENT_FIGURE_THREADS] = threads_get_count(&a->threads);
	to[SEGMENT_FIGURE_STACKS] = a->sites.list.count;
}

static uint32_t get_serial(const struct account *a, uint32_t slot)
{
	return a->threads.list.at[a->actors[slot].thread].serial;
}

/* What the counters say, in place of events. There is no telling what there was at the peak. */
static void fill_from_tags(const struct account *a, uint32_t serial, uint64_t *to)
{
	struct tag_counts_sum sum = tag_counts_add_up(a->counted, a->counted_map, serial);

	to[SEGMENT_FIGURE_ALLOCATIONS] = sum.allocations;
	to[SEGMENT_FIGURE_FREES] = sum.frees;
	to[SEGMENT_FIGURE_REALLOCATIONS] = sum.reallocations;
	to[SEGMENT_FIGURE_ALLOCATED_BYTES] = sum.allocated_bytes;
	to[SEGMENT_FIGURE_FREED_BYTES] = sum.freed_bytes;
	to[SEGMENT_FIGURE_LIVE_BYTES] = sum.live_bytes;
	to[SEGMENT_FIGURE_LIVE_BLOCKS] = subtract(sum.allocations, sum.frees);
}

static void answer_ask(struct account *a, const struct event *e)
{
	uint64_t figures[SEGMENT_FIGURES] = {0};

	if (e->size == SEGMENT_SCOPE_THREAD)
		fill_thread(a, e->slot, figures);
	else
		fill_all(a, figures);
	if (a->counted)
		fill_from_tags(a, e->size == SEGMENT_SCOPE_THREAD ? get_serial(a, e->slot) : 0,
			       figures);
	figures[SEGMENT_FIGURE_ELAPSED_NS] = ticks_to_ns(a->clock, e->ticks);
	if (a->slots)
		memcpy(a->slots[e->slot].figures, figures, sizeof(figures));
	obey_answer(a, e->slot, (uint32_t)e->ptr, true);
}

/* The caller of collect_run has files. */
static void order_write(struct account *a, const struct event *e)
{
	const struct text *text = &a->texts[e->slot];

	if (!text->bytes || a->writes.count >= WRITES_MOST) {
		obey_answer(a, e->slot, (uint32_t)e->ptr, false);
		return;
	}
	*vec_push(&a->writes) = (struct write_order){
		.path = mem_copy_string(text->at),
		.slot = e->slot,
		.question = (uint32_t)e->ptr,
	};
}

/* That takes longer than an event may: collect_run sees to it. */
static void order_leaks(struct account *a, const struct event *e)
{
	if (a->leak_orders.count >= WRITES_MOST)
		obey_answer(a, e->slot, (uint32_t)e->ptr, false);
	else
		*vec_push(&a->leak_orders) =
			(struct leak_order){e->slot, (uint32_t)e->ptr, e->size, e->hash};
}

static void order_look(struct account *a, const struct event *e)
{
	if (a->look_orders.count >= WRITES_MOST)
		obey_answer(a, e->slot, (uint32_t)e->ptr, false);
	else
		*vec_push(&a->look_orders) =
			(struct look_order){e->slot, (uint32_t)e->ptr, e->size != 0};
}

/* A thread that comes back after its end has a fresh look. */
static void note_deepest(struct account *a, const struct event *e)
{
	struct thread *thread = &a->threads.list.at[a->actors[e->slot].thread];

	if (e->ptr > UINT32_MAX || e->size < thread->deepest_bytes)
		return;
	thread->deepest_node = (uint32_t)e->ptr;
	thread->deepest_bytes = e->size;
}

static void obey_order(struct account *a, const struct event *e)
{
	switch (e->api) {
	case SEGMENT_ORDER_SWITCH:
		obey_switch(a, e);
		break;
	case SEGMENT_ORDER_CLEAR:
		obey_clear(a, e);
		break;
	case SEGMENT_ORDER_ASK:
		answer_ask(a, e);
		break;
	case SEGMENT_ORDER_WRITE:
		order_write(a, e);
		break;
	case SEGMENT_ORDER_THRESHOLD:
		set_threshold(a, e);
		break;
	case SEGMENT_ORDER_FAREWELL:
		a->farewell = (struct farewell){e->slot, (uint32_t)e->ptr};
		break;
	case SEGMENT_ORDER_POOL_OPEN:
		pools_open(a, e);
		break;
	case SEGMENT_ORDER_POOL_CLOSE:
		pools_close(a, e);
		break;
	case SEGMENT_ORDER_LEAKS:
		order_leaks(a, e);
		break;
	case SEGMENT_ORDER_LOOK:
		order_look(a, e);
		break;
	case SEGMENT_ORDER_DEEPEST:
		note_deepest(a, e);
		break;
	default: /* the reader lets no other order through */
		break;
	}
	a->texts[e->slot].bytes = 0;
}

void obey_event(struct account *a, const struct event *e)
{
	if (e->kind == SEGMENT_EVENT_NAME)
		add_piece(&a->texts[e->slot], e);
	else if (e->kind == SEGMENT_EVENT_MARK)
		take_snapshot(a, e);
	else
		obey_order(a, e);
}
