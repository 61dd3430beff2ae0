/* shares.c -- which thread has which share of a site. Runs: offline, pure; called by filters and
 * reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/shares.h"

#include "model/fields.h"

bool shares_are_known(const struct profile *p)
{
	if (p->parts.count)
		return true;
	for (size_t i = 0; i < p->sites.count; i++)
		if (p->sites.at[i].thread)
			return true;
	return p->sites.count == 0;
}

/* The first part of this site, or of a later one if it has none. */
static size_t find_first(const struct profile *p, size_t site)
{
	size_t low = 0, high = p->parts.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->parts.at[middle].site < site)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t shares_get_count(const struct profile *p, size_t site)
{
	if (p->sites.at[site].thread)
		return 1;
	return find_first(p, site + 1) - find_first(p, site);
}

static struct profile_part get_whole(const struct profile *p, size_t site)
{
	const struct profile_site *s = &p->sites.at[site];

	return (struct profile_part){
		.site = (uint32_t)site,
		.thread = s->thread,
		.allocations = s->allocations,
		.allocated_bytes = s->allocated_bytes,
		.frees = s->frees,
		.freed_bytes = s->freed_bytes,
		.live_blocks = s->live_blocks,
		.live_bytes = s->live_bytes,
		.at_peak_blocks = s->at_peak_blocks,
		.at_peak_bytes = s->at_peak_bytes,
		.temporary = s->temporary,
	};
}

struct profile_part shares_get(const struct profile *p, size_t site, size_t i)
{
	return p->sites.at[site].thread ? get_whole(p, site) : p->parts.at[find_first(p, site) + i];
}

struct profile_part shares_find(const struct profile *p, size_t site, uint32_t thread)
{
	const struct profile_part none = {.site = (uint32_t)site, .thread = thread};

	if (p->sites.at[site].thread)
		return p->sites.at[site].thread == thread ? get_whole(p, site) : none;
	for (size_t i = find_first(p, site); i < p->parts.count && p->parts.at[i].site == site; i++)
		if (p->parts.at[i].thread == thread)
			return p->parts.at[i];
	return none;
}

struct amount shares_get_amount(const struct profile_part *share, enum figure f)
{
	const struct profile_site as_site = {
		.allocations = share->allocations,
		.allocated_bytes = share->allocated_bytes,
		.live_blocks = share->live_blocks,
		.live_bytes = share->live_bytes,
		.at_peak_blocks = share->at_peak_blocks,
		.at_peak_bytes = share->at_peak_bytes,
		.temporary = share->temporary,
	};

	return figure_get(&as_site, f);
}

void shares_add(struct json *j, const struct profile *p, size_t site)
{
	json_begin_list(j, "threads");
	for (size_t i = 0; i < shares_get_count(p, site); i++) {
		struct profile_part share = shares_get(p, site, i);
		json_begin_object(j, NULL);
		json_add_uint(j, "serial", share.thread);
		fields_add(j, &share, fields_part);
		json_end_object(j);
	}
	json_end_list(j);
}
