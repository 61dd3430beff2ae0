/* figure.c -- what a profile can be asked about a site: peak, leaked, allocated, calls, temporary.
 * Runs: offline, called by the trees, reports and exports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/figure.h"

#include <string.h>

static const char *const names[FIGURE_KINDS] = {
	[FIGURE_PEAK] = "peak",		  [FIGURE_LEAKED] = "leaked",
	[FIGURE_ALLOCATED] = "allocated", [FIGURE_CALLS] = "calls",
	[FIGURE_TEMPORARY] = "temporary",
};

const char *figure_name(enum figure f)
{
	return names[f];
}

enum figure figure_find(const char *name)
{
	unsigned f = 0;

	while (f < FIGURE_KINDS && strcmp(name, names[f]) != 0)
		f++;
	return (enum figure)f;
}

bool figure_is_count(enum figure f)
{
	return f == FIGURE_CALLS || f == FIGURE_TEMPORARY;
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
	default:
		return (struct amount){t->allocated_bytes, t->allocations};
	}
}

uint64_t figure_get_value(struct amount a, enum figure f)
{
	return figure_is_count(f) ? a.blocks : a.bytes;
}
