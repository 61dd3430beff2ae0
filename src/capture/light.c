/* light.c -- the rare side of light.h: the calls that are recorded, and who begins and ends.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called by the hooks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/light.h"

#include <errno.h>

#include "capture/cold.h"
#include "capture/counting.h"

_Atomic uint32_t light_mode = LIGHT_UNKNOWN;

/* ---- start and end --------------------------------------------------------------------------- */

void light_begin(const struct segment_header *h)
{
	uint32_t mode = LIGHT_NONE;

	if (h && h->mode == SEGMENT_MODE_SAMPLE)
		mode = LIGHT_SAMPLE;
	if (h && h->mode == SEGMENT_MODE_TAGS)
		mode = LIGHT_TAGS;
	if (mode == LIGHT_SAMPLE)
		sampler_begin();
	atomic_store(&light_mode, mode);
}

NOINLINE bool light_find_mode(void)
{
	if (atomic_load(&light_mode) == LIGHT_UNKNOWN)
		cold_start();
	return atomic_load(&light_mode) >= LIGHT_SAMPLE;
}

/* In tag mode, all is counting.c's. */
static bool is_counting(void)
{
	return atomic_load_explicit(&light_mode, memory_order_relaxed) == LIGHT_TAGS;
}

void light_attach(struct thread *t)
{
	if (atomic_load(&light_mode) == LIGHT_SAMPLE)
		sampler_attach(t);
}

static uint64_t count_calls(const struct thread *t)
{
	uint64_t calls = 0;

	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		calls += t->light.calls[i];
	return calls;
}

static void show(_Atomic uint64_t *total, uint64_t value)
{
	atomic_store_explicit(total, value, memory_order_relaxed);
}

static uint64_t count_bytes(const struct thread *t)
{
	uint64_t spent = t->sampler.spent + t->sampler.granted - t->allowance;

	if (t->allowance == 0) /* masked */
		spent -= t->sampler.masked;
	return spent - count_calls(t);
}

/* The collector reads them whenever; they need not be of the same moment. */
static void show_totals(const struct thread *t)
{
	struct segment_totals *totals = &t->slot->totals;

	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		show(&totals->calls[i], t->light.calls[i]);
	show(&totals->bytes, count_bytes(t));
	show(&totals->frees, t->light.frees);
	show(&totals->reallocations, t->light.reallocations);
}

bool light_pack_totals(uint64_t words[SEGMENT_TOTALS])
{
	const struct thread *t = thread_self;

	if (atomic_load(&light_mode) != LIGHT_SAMPLE || t->state != THREAD_READY ||
	    !t->sampler.granted)
		return false;
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		words[i] = t->light.calls[i];
	words[SEGMENT_TOTALS - 3] = count_bytes(t);
	words[SEGMENT_TOTALS - 2] = t->light.frees;
	words[SEGMENT_TOTALS - 1] = t->light.reallocations;
	show_totals(t);
	return true;
}

void light_end(struct thread *t)
{
	if (t->sampler.granted)
		show_totals(t);
	t->allowance = t->small_left = 0;
}

void light_end_all(void)
{
	if (atomic_load(&light_mode) != LIGHT_SAMPLE)
		return;
	for (uint32_t b = 0; b < PROCESS_BLOCKS; b++) {
		char *at = atomic_load_explicit(&process->blocks[b], memory_order_acquire);

		for (uint32_t i = 0; at && i < PROCESS_THREADS_PER_BLOCK; i++) {
			const struct thread *t = (void *)(at + process->thread_bytes * i);

			if (t->state == THREAD_READY && t->sampler.granted)
				show_totals(t);
		}
	}
}

/* ---- becoming ready -------------------------------------------------------------------------- */

/* The calling thread, which has an allowance; NULL: nothing is to be counted. */
static struct thread *enter(uint64_t frame, uint64_t pc)
{
	struct thread *t = thread_self;

	if (likely(t->allowance))
		return t;
	if (!cold_enter(frame, pc))
		return NULL;
	t = thread_self;
	return t->allowance ? t : NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The period of the samples to come, if it is another than the last one's. */
static void tell_period(struct thread *t)
{
	uint64_t period = t->sampler.period;

	if (likely(t->sampler.told == period))
		return;
	t = hot_enter();
	if (!t)
		return;
	t->pos[0] = hot_word(t, SEGMENT_EVENT_PERIOD, 0);
	t->pos[1] = period;
	hot_publish(t, t->pos + 2);
	t->sampler.told = period;
	hot_leave(t);
}

static void thin(void)
{
	int saved = errno;
	uint64_t blocked = host_block_signals();

	sampler_thin();
	host_set_signals(blocked);
	errno = saved;
}

/* A sample that the table has no room for stays as long as the recording. */
static void keep_sample(struct thread *t, void *block, size_t bytes)
{
	struct sampler_block facts = {.bytes = bytes, .period = t->sampler.period};

	if (!sampler_put(block, facts) && t->slot)
		thread_count(&t->slot->losses.lost_events);
	if (unlikely(sampler_is_crowded()))
		thin();
}

/* Counts the sample and draws the next allowance. Busy meanwhile: a handler that forks must find
 * the segment in use, or the child would go on here without it. */
static void draw_next(void *block, size_t bytes, uint32_t api)
{
	struct thread *t = hot_enter();

	if (!t) { /* recording has ended, or this is a fork child */
		if (thread_self->allowance)
			sampler_draw(thread_self);
		return;
	}
	t->sampler.spent += t->sampler.granted - t->allowance + bytes + 1;
	t->light.calls[api]++;
	t->sampler.last = block;
	t->sampler.last_calls = count_calls(t);
	sampler_draw(t);
	show_totals(t);
	hot_leave(t);
}

void light_record(void *block, size_t bytes, uint32_t kind, uint32_t api,
		  const struct walk_start *start)
{
	struct thread *t = thread_self;

	tell_period(t);
	if (t->sampler.told == t->sampler.period && hot_block(block, bytes, kind, api, start)) {
		t = thread_self;
		keep_sample(t, block, bytes);
	}
}

/* The allowance does not do for the block: it is the next sample. Then another one is drawn. */
static void sample(void *block, size_t bytes, uint32_t kind, uint32_t api,
		   const struct walk_start *start)
{
	light_record(block, bytes, kind, api, start);
	draw_next(block, bytes, api);
}

NOINLINE void light_add(void *block, size_t bytes, uint32_t api, const struct walk_start *start)
{
	if (is_counting()) {
		counting_note(block, bytes, api, start->sp);
		return;
	}
	struct thread *t = enter(start->sp, start->pc);

	if (!t)
		return;
	if (!block)
		cold_failed();
	else if (!light_take(bytes, api))
		sample(block, bytes, SEGMENT_EVENT_ALLOC, api, start);
}

/* ---- frees ----------------------------------------------------------------------------------- */

static uint32_t note_temporary(struct thread *t, const void *block)
{
	bool temporary = t->sampler.last == block && t->sampler.last_calls == count_calls(t);

	return temporary ? SEGMENT_FREE_TEMPORARY : 0;
}

NOINLINE void light_remove(void *block, uint64_t frame, uint64_t pc)
{
	if (is_counting()) {
		counting_note_free(block, frame);
		return;
	}
	struct sampler_block facts;
	struct thread *t = enter(frame, pc);

	if (!t)
		return;
	t->light.frees++;
	if (sampler_take(block, &facts))
		(void)hot_release_as(block, SEGMENT_EVENT_FREE, note_temporary(t, block));
}

/* ---- realloc --------------------------------------------------------------------------------- */

NOINLINE void light_move_begin(struct light_move *m, void *block, const struct walk_start *start)
{
	*m = (struct light_move){.block = block, .api = SEGMENT_API_REALLOC};
	if (is_counting())
		m->usable_bytes = counting_measure(block);
	else if (!enter(start->sp, start->pc))
		m->refused = true; /* and has been counted, if it should be */
	else
		m->sampled =
			sampler_take(block, &m->facts) && hot_release(block, SEGMENT_EVENT_RESIZE);
}

void light_move_undo(const struct light_move *m)
{
	if (!m->sampled)
		return;
	gate_end_resize(SEGMENT_EVENT_RESIZE_FAILED);
	(void)sampler_put(m->block, m->facts);
}

NOINLINE void light_move_end(const struct light_move *m, void *moved, size_t bytes,
			     const struct walk_start *start)
{
	if (is_counting()) {
		counting_note_move(m->usable_bytes, moved, bytes, start->sp);
		return;
	}
	struct thread *t = m->refused ? NULL : enter(start->sp, start->pc);

	if (!t)
		return;
	if (!moved && bytes) {
		light_move_undo(m);
		cold_failed();
		return;
	}
	t->light.frees++;
	if (moved) {
		t->light.reallocations++;
		if (!light_take(bytes, m->api)) {
			/* Whether what it was is known or not: it counts as resized. */
			sample(moved, bytes, SEGMENT_EVENT_RESIZED, m->api, start);
			return;
		}
	}
	if (m->sampled)
		gate_end_resize(SEGMENT_EVENT_RESIZE_FREED);
}

/* ---- functions built on others --------------------------------------------------------------- */

NOINLINE bool light_mask(uint64_t frame)
{
	if (is_counting())
		return counting_mask(frame);
	/* Whoever is inside another call is told so when it comes to counting. */
	struct thread *t = thread_is_busy(thread_self) ? NULL : enter(frame, 0);

	if (!t || !cold_mask(t, frame))
		return false;
	t->sampler.masked = t->allowance;
	t->allowance = 0;
	return true;
}

NOINLINE void light_unmask(bool masked)
{
	struct thread *t = thread_self;

	if (is_counting()) {
		counting_unmask(masked);
		return;
	}
	cold_unmask(masked);
	if (masked && t->sampler.masked) {
		t->allowance = t->sampler.masked;
		t->sampler.masked = 0;
	}
}
