/* build_sampled.c -- what a profile of samples has beyond an exact one. Runs: in the collector
 * process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/build_sampled.h"

#include <math.h>

#include "base/whole.h"
#include "collect/account_sampled.h"

static struct profile_doubt get_doubt(const struct doubt *d)
{
	return (struct profile_doubt){
		.bytes = whole_get(sqrt(d->bytes) + 0.5),
		.milliblocks = whole_get(sqrt(d->blocks) * 1000 + 0.5),
	};
}

static void build_sites(struct account *a, struct profile *p)
{
	for (uint32_t i = 0; i < p->sites.count; i++) {
		const struct site_doubt *d = sampling_get_doubt(a->sampling, i, &a->peak);
		struct profile_site *site = &p->sites.at[i];

		site->allocated_doubt = get_doubt(&d->allocated);
		site->live_doubt = get_doubt(&d->live);
		site->at_peak_doubt = get_doubt(&d->at_peak);
		site->temporary_doubt = whole_get(sqrt(d->temporary) * 1000 + 0.5);
	}
}

static void add_counted(struct profile_thread *out, const struct sampling_totals *counted)
{
	out->allocations += counted->allocations;
	out->allocated_bytes += counted->bytes;
	out->frees += counted->frees;
	out->reallocations += counted->reallocations;
}

void build_sampled_threads(const struct account *a, struct profile *p)
{
	const struct sampling *s = a->sampling;

	if (!account_sampled_is_all(a))
		return;
	for (size_t i = 0; i < p->threads.count; i++) {
		struct profile_thread *out = &p->threads.at[i];

		out->allocations = out->allocated_bytes = out->frees = out->reallocations = 0;
		if (i < s->retired.count)
			add_counted(out, &s->retired.at[i]);
	}
	for (uint32_t slot = 1; slot < s->used; slot++) {
		struct sampling_totals sum = {0};

		if (!s->periods[slot])
			continue;
		sampling_add_slot(s, slot, &sum);
		add_counted(&p->threads.at[a->actors[slot].thread], &sum);
	}
}

static void build_totals(const struct account *a, struct profile *p)
{
	struct sampling_totals sum = sampling_get_totals(a->sampling);

	p->totals.reallocations = sum.reallocations;
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		p->totals.api_calls[i] = sum.calls[i];
}

void build_sampled(struct account *a, struct profile *p)
{
	if (!a->sampling)
		return;
	p->run.sample_period = a->sampling->longest_period;
	p->run.sampled_blocks =
		account_sampled_is_all(a) ? PROFILE_SAMPLED_ALL : PROFILE_SAMPLED_SMALL;
	build_sites(a, p);
	if (account_sampled_is_all(a))
		build_totals(a, p);
}
