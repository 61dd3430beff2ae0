/* figure.c -- what a profile can be asked about a site: peak, leaked, allocated, calls and more.
 * Runs: offline, called by the trees, reports and exports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/figure.h"

#include <string.h>

static const char *const names[FIGURE_ALL] = {
	[FIGURE_PEAK] = "peak",
	[FIGURE_LEAKED] = "leaked",
	[FIGURE_ALLOCATED] = "allocated",
	[FIGURE_CALLS] = "calls",
	[FIGURE_TEMPORARY] = "temporary",
	[FIGURE_KINDS] = "", /* no figure: no name to find it by */
	[FIGURE_LIVE] = "live",
	[FIGURE_GROWTH] = "growth",
	[FIGURE_OWN_PEAK] = "own-peak",
	[FIGURE_REALLOC] = "realloc",
};

const char *figure_name(enum figure f)
{
	return names[f];
}

enum figure figure_find_any(const char *name)
{
	unsigned f = 0;

	while (f < FIGURE_ALL && (!*names[f] || strcmp(name, names[f]) != 0))
		f++;
	return (enum figure)f;
}

enum figure figure_find(const char *name)
{
	enum figure f = figure_find_any(name);

	return f < FIGURE_KINDS ? f : FIGURE_KINDS;
}

bool figure_is_count(enum figure f)
{
	return f == FIGURE_CALLS || f == FIGURE_TEMPORARY || f == FIGURE_REALLOC;
}

bool figure_has_bytes(enum figure f)
{
	return f != FIGURE_TEMPORARY && f != FIGURE_REALLOC;
}

bool figure_has_blocks(enum figure f)
{
	return f != FIGURE_OWN_PEAK;
}

/* A standard deviation, and one in thousandths, as what sums are made of. */
static double square(uint64_t deviation)
{
	return (double)deviation * (double)deviation;
}

static struct amount with_doubt(uint64_t bytes, uint64_t blocks, struct profile_doubt doubt)
{
	return (struct amount){
		.bytes = bytes,
		.blocks = blocks,
		.bytes_variance = square(doubt.bytes),
		.blocks_variance = square(doubt.milliblocks) * 1e-6,
	};
}

struct amount figure_get(const struct profile_site *site, enum figure f)
{
	const struct profile_doubt temporary = {.milliblocks = site->temporary_doubt};
	/* They are some of the site's allocations, mostly all: the doubt is no larger. */
	const struct profile_doubt resized = {.milliblocks = site->allocated_doubt.milliblocks};

	switch (f) {
	case FIGURE_PEAK:
		return with_doubt(site->at_peak_bytes, site->at_peak_blocks, site->at_peak_doubt);
	case FIGURE_LEAKED:
		return with_doubt(site->live_bytes, site->live_blocks, site->live_doubt);
	case FIGURE_TEMPORARY:
		return with_doubt(0, site->temporary, temporary);
	case FIGURE_OWN_PEAK:
		return (struct amount){.bytes = site->own_peak_bytes};
	case FIGURE_REALLOC:
		return with_doubt(0, site->reallocations, resized);
	case FIGURE_LIVE:
	case FIGURE_GROWTH:
		return (struct amount){0};
	default:
		return with_doubt(site->allocated_bytes, site->allocations, site->allocated_doubt);
	}
}

/* A sample stands for period bytes at most, if it is not larger itself: then it is sure. Blocks are
 * as many as there go into the bytes. */
struct amount figure_bound(const struct profile *p, struct amount a)
{
	double period = (double)p->run.sample_period;

	a.period = p->run.sample_period;
	a.bytes_variance = period * (double)a.bytes;
	a.blocks_variance = period * (double)a.blocks;
	if (a.bytes > a.blocks)
		a.blocks_variance *= (double)a.blocks / (double)a.bytes;
	return a;
}

bool figure_is_counted(const struct profile *p)
{
	return !p->run.sample_period || p->run.sampled_blocks == PROFILE_SAMPLED_ALL;
}

/* Where small objects of Python alone were sampled, a site that has none is sure. */
struct amount figure_bound_site(const struct profile *p, size_t site, struct amount a)
{
	if (!figure_is_counted(p) && p->sites.at[site].allocated_doubt.milliblocks == 0)
		return a;
	return figure_bound(p, a);
}

struct amount figure_get_estimate(const struct profile *p, size_t site, enum figure f)
{
	struct amount a = figure_get(&p->sites.at[site], f);

	if (f == FIGURE_OWN_PEAK)
		return figure_bound_site(p, site, a);
	a.period = p->run.sample_period;
	return a;
}

static struct amount sum_up(const struct profile *p, enum figure f)
{
	struct amount sum = {.period = p->run.sample_period};

	for (size_t i = 0; p->run.sample_period && i < p->sites.count; i++)
		sum = amount_plus(sum, figure_get_estimate(p, i, f));
	return sum;
}

/* What is live when figures start over counts as allocated then, and is an estimate. */
bool figure_is_total_counted(const struct profile *p)
{
	return figure_is_counted(p) && !(p->run.sample_period && p->run.cleared_ns);
}

/* Allocations are counted, also where few of them are recorded; but small objects of Python. */
struct amount figure_get_total(const struct profile *p, enum figure f)
{
	const struct profile_totals *t = &p->totals;
	struct amount sum = {0};

	switch (f) {
	case FIGURE_PEAK:
		sum = sum_up(p, f);
		sum.bytes = t->peak_bytes;
		sum.blocks = t->peak_blocks;
		return sum;
	case FIGURE_LEAKED:
		sum = sum_up(p, f);
		sum.bytes = t->leaked_bytes;
		sum.blocks = t->leaked_blocks;
		return sum;
	case FIGURE_TEMPORARY:
		sum = sum_up(p, f);
		sum.blocks = t->temporary_allocations;
		return sum;
	case FIGURE_REALLOC:
		sum.blocks = t->reallocations;
		return sum;
	case FIGURE_LIVE:
	case FIGURE_GROWTH:
	case FIGURE_OWN_PEAK:
		return sum;
	default:
		if (!figure_is_total_counted(p))
			sum = sum_up(p, f);
		sum.bytes = t->allocated_bytes;
		sum.blocks = t->allocations;
		return sum;
	}
}

uint64_t figure_get_value(struct amount a, enum figure f)
{
	return figure_is_count(f) ? a.blocks : a.bytes;
}
