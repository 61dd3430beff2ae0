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

struct amount figure_get(const struct profile_site *site, enum figure f)
{
	switch (f) {
	case FIGURE_PEAK:
		return (struct amount){site->at_peak_bytes, site->at_peak_blocks};
	case FIGURE_LEAKED:
		return (struct amount){site->live_bytes, site->live_blocks};
	case FIGURE_TEMPORARY:
		return (struct amount){0, site->temporary};
	case FIGURE_OWN_PEAK:
		return (struct amount){site->own_peak_bytes, 0};
	case FIGURE_REALLOC:
		return (struct amount){0, site->reallocations};
	case FIGURE_LIVE:
	case FIGURE_GROWTH:
		return (struct amount){0, 0};
	default:
		return (struct amount){site->allocated_bytes, site->allocations};
	}
}

struct amount figure_get_total(const struct profile *p, enum figure f)
{
	const struct profile_totals *t = &p->totals;

	switch (f) {
	case FIGURE_PEAK:
		return (struct amount){t->peak_bytes, t->peak_blocks};
	case FIGURE_LEAKED:
		return (struct amount){t->leaked_bytes, t->leaked_blocks};
	case FIGURE_TEMPORARY:
		return (struct amount){0, t->temporary_allocations};
	case FIGURE_REALLOC:
		return (struct amount){0, t->reallocations};
	case FIGURE_LIVE:
	case FIGURE_GROWTH:
	case FIGURE_OWN_PEAK:
		return (struct amount){0, 0};
	default:
		return (struct amount){t->allocated_bytes, t->allocations};
	}
}

uint64_t figure_get_value(struct amount a, enum figure f)
{
	return figure_is_count(f) ? a.blocks : a.bytes;
}
