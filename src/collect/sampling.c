/* sampling.c -- what is known beyond the figures when blocks are sampled.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampling.h"

#include <stdlib.h>

#include "base/mem.h"

struct sampling *sampling_new(const struct sampling_terms *terms, const struct segment_slot *slots,
			      uint32_t slot_count)
{
	struct sampling *s = mem_new(1, sizeof(*s));

	*s = (struct sampling){
		.slots = slots,
		.slot_count = slot_count,
		.first_period = terms->period,
		.longest_period = terms->period,
		.periods = mem_new(slot_count, sizeof(s->periods[0])),
		.keys = mem_new(slot_count, sizeof(s->keys[0])),
		.seed = terms->seed,
		.partly = terms->partly,
	};
	*vec_push(&s->samples) = (struct sample){0};
	return s;
}

void sampling_free(struct sampling *s)
{
	if (!s)
		return;
	vec_free(&s->samples);
	vec_free(&s->doubts);
	vec_free(&s->retired);
	free(s->periods);
	free(s->keys);
	free(s->pauses);
	free(s);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Weights are rounded alike in runs with the same seed. */
void sampling_open(struct sampling *s, uint32_t slot, uint32_t serial)
{
	s->periods[slot] = s->first_period;
	if (slot >= s->used)
		s->used = slot + 1;
	if (s->pauses)
		s->pauses[slot] = (struct sampling_pause){0};
	s->keys[slot] = s->seed ^ (uint64_t)serial << 40;
}

void sampling_set_period(struct sampling *s, uint32_t slot, uint64_t period)
{
	if (period == 0 || period > SEGMENT_PERIOD_MAX)
		return;
	s->periods[slot] = period;
	if (period > s->longest_period)
		s->longest_period = period;
}

void sampling_sum(struct sampling_totals *sum, const struct sampling_totals *more)
{
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		sum->calls[i] += more->calls[i];
	sum->allocations += more->allocations;
	sum->bytes += more->bytes;
	sum->frees += more->frees;
	sum->reallocations += more->reallocations;
}

static void subtract(struct sampling_totals *from, const struct sampling_totals *base)
{
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		from->calls[i] -= base->calls[i];
	from->allocations -= base->allocations;
	from->bytes -= base->bytes;
	from->frees -= base->frees;
	from->reallocations -= base->reallocations;
}

static uint64_t read_total(const _Atomic uint64_t *total)
{
	return atomic_load_explicit(total, memory_order_relaxed);
}

struct sampling_totals sampling_read(const struct sampling *s, uint32_t slot)
{
	const struct segment_totals *from = &s->slots[slot].totals;
	struct sampling_totals now = {
		.bytes = read_total(&from->bytes),
		.frees = read_total(&from->frees),
		.reallocations = read_total(&from->reallocations),
	};

	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		now.allocations += now.calls[i] = read_total(&from->calls[i]);
	return now;
}

struct sampling_totals sampling_unpack(const uint64_t words[SEGMENT_TOTALS])
{
	struct sampling_totals now = {
		.bytes = words[SEGMENT_TOTALS - 3],
		.frees = words[SEGMENT_TOTALS - 2],
		.reallocations = words[SEGMENT_TOTALS - 1],
	};

	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		now.allocations += now.calls[i] = words[i];
	return now;
}

void sampling_add_slot(const struct sampling *s, uint32_t slot, struct sampling_totals *sum)
{
	struct sampling_totals now = sampling_read(s, slot);

	if (s->pauses) {
		const struct sampling_pause *pause = &s->pauses[slot];

		if (pause->is_stopped)
			now = pause->stopped_at;
		subtract(&now, &pause->left_out);
	}
	sampling_sum(sum, &now);
}

static struct sampling_totals *reserve_retired(struct sampling *s, uint32_t thread)
{
	while (s->retired.count <= thread)
		*vec_push(&s->retired) = (struct sampling_totals){0};
	return &s->retired.at[thread];
}

void sampling_close(struct sampling *s, uint32_t slot, uint32_t thread)
{
	sampling_add_slot(s, slot, reserve_retired(s, thread));
	s->periods[slot] = 0;
}

/* ---- what does not count --------------------------------------------------------------------- */

static struct sampling_pause *reserve_pause(struct sampling *s, uint32_t slot)
{
	if (!s->pauses)
		s->pauses = mem_new(s->slot_count, sizeof(s->pauses[0]));
	return &s->pauses[slot];
}

void sampling_stop(struct sampling *s, uint32_t slot, const struct sampling_totals *now)
{
	struct sampling_pause *pause = reserve_pause(s, slot);

	if (pause->is_stopped)
		return;
	pause->is_stopped = true;
	pause->stopped_at = *now;
}

void sampling_start(struct sampling *s, uint32_t slot, const struct sampling_totals *now)
{
	struct sampling_pause *pause = reserve_pause(s, slot);
	struct sampling_totals meanwhile = *now;

	if (!pause->is_stopped)
		return;
	pause->is_stopped = false;
	subtract(&meanwhile, &pause->stopped_at);
	sampling_sum(&pause->left_out, &meanwhile);
}

void sampling_clear_slot(struct sampling *s, uint32_t slot, const struct sampling_totals *now)
{
	struct sampling_pause *pause = reserve_pause(s, slot);

	pause->left_out = pause->is_stopped ? pause->stopped_at : *now;
}

void sampling_clear(struct sampling *s)
{
	for (size_t i = 0; i < s->retired.count; i++)
		s->retired.at[i] = (struct sampling_totals){0};
	s->shown = (struct sampling_totals){0};
	s->shown_freed_bytes = 0;
}

void sampling_carry(struct sampling *s, uint32_t thread, uint64_t blocks, uint64_t bytes)
{
	struct sampling_totals *to = reserve_retired(s, thread);

	to->allocations += blocks;
	to->bytes += bytes;
	to->calls[SEGMENT_API_OTHER] += blocks;
}

struct sampling_totals sampling_get_totals(const struct sampling *s)
{
	struct sampling_totals sum = {0};

	for (size_t i = 0; i < s->retired.count; i++)
		sampling_sum(&sum, &s->retired.at[i]);
	for (uint32_t slot = 1; slot < s->used; slot++)
		if (s->periods[slot])
			sampling_add_slot(s, slot, &sum);
	return sum;
}

/* ---- samples --------------------------------------------------------------------------------- */

uint32_t sampling_add(struct sampling *s, const struct sample *sample)
{
	uint32_t number = s->free_sample;

	if (number)
		s->free_sample = s->samples.at[number].next_free;
	else
		number = (uint32_t)(vec_push(&s->samples) - s->samples.at);
	s->samples.at[number] = *sample;
	return number;
}

void sampling_remove(struct sampling *s, uint32_t number)
{
	s->samples.at[number].next_free = s->free_sample;
	s->free_sample = number;
}

/* ---- doubt ----------------------------------------------------------------------------------- */

struct site_doubt *sampling_get_doubt(struct sampling *s, uint32_t site, const struct peak *p)
{
	while (s->doubts.count <= site)
		*vec_push(&s->doubts) = (struct site_doubt){0};

	struct site_doubt *d = &s->doubts.at[site];
	if (d->peak_seen != p->number) {
		d->peak_seen = p->number;
		d->at_peak = d->live;
	}
	return d;
}
