/* sampling.c -- what is known beyond the figures when blocks are sampled.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampling.h"

#include <stdlib.h>

#include "base/mem.h"

struct sampling *sampling_new(const struct segment_header *h, const struct segment_slot *slots,
			      uint32_t slot_count)
{
	struct sampling *s = mem_new(1, sizeof(*s));

	*s = (struct sampling){
		.slots = slots,
		.slot_count = slot_count,
		.first_period = h->sample_period,
		.longest_period = h->sample_period,
		.periods = mem_new(slot_count, sizeof(s->periods[0])),
		.keys = mem_new(slot_count, sizeof(s->keys[0])),
		.seed = h->sample_seed,
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
	free(s->bases);
	free(s);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Weights are rounded alike in runs with the same seed. */
void sampling_open(struct sampling *s, uint32_t slot, uint32_t serial)
{
	s->periods[slot] = s->first_period;
	if (slot >= s->used)
		s->used = slot + 1;
	if (s->bases)
		s->bases[slot] = (struct sampling_totals){0};
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

void sampling_add_slot(const struct sampling *s, uint32_t slot, struct sampling_totals *sum)
{
	const struct segment_totals *from = &s->slots[slot].totals;
	struct sampling_totals now = {
		.bytes = read_total(&from->bytes),
		.frees = read_total(&from->frees),
		.reallocations = read_total(&from->reallocations),
	};

	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++) {
		now.calls[i] = read_total(&from->calls[i]);
		now.allocations += now.calls[i];
	}
	if (s->bases)
		subtract(&now, &s->bases[slot]);
	sampling_sum(sum, &now);
}

void sampling_clear(struct sampling *s)
{
	struct sampling_totals *bases = mem_new(s->slot_count, sizeof(*bases));

	free(s->bases);
	s->bases = NULL; /* so that what follows is since the start of each thread */
	for (uint32_t slot = 1; slot < s->used; slot++)
		if (s->periods[slot])
			sampling_add_slot(s, slot, &bases[slot]);
	s->bases = bases;
	for (size_t i = 0; i < s->retired.count; i++)
		s->retired.at[i] = (struct sampling_totals){0};
	s->carried = s->shown = (struct sampling_totals){0};
	s->shown_freed_bytes = 0;
}

void sampling_close(struct sampling *s, uint32_t slot, uint32_t thread)
{
	while (s->retired.count <= thread)
		*vec_push(&s->retired) = (struct sampling_totals){0};
	sampling_add_slot(s, slot, &s->retired.at[thread]);
	s->periods[slot] = 0;
}

struct sampling_totals sampling_get_totals(const struct sampling *s)
{
	struct sampling_totals sum = s->carried;

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
