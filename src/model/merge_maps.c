/* merge_maps.c -- what several recorded programs mapped themselves, in one profile. Runs: offline;
 * called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_maps.h"

#include "model/merge_figures.h"
#include "model/merge_times.h"

#define KIND_BITS 3u /* of enum profile_map */
_Static_assert(PROFILE_MAP_KINDS <= 1u << KIND_BITS, "a kind fits into its bits of a key");

static struct profile_site *reserve(struct map *by_place, struct profile *to, uint32_t node,
				    const struct profile_site *like)
{
	uint32_t *known = map_reserve(by_place, (uint64_t)node << KIND_BITS | like->kind);

	if (!*known) {
		*vec_push(&to->map_sites) = (struct profile_site){
			.node = node,
			.kind = like->kind,
			.own_peak_time_ns = like->own_peak_time_ns,
			.size_min = UINT64_MAX,
			.lifetime_min_ns = UINT64_MAX,
		};
		*known = (uint32_t)to->map_sites.count;
	}
	return &to->map_sites.at[*known - 1];
}

/* Two stacks of an input may be one in the merged profile: they are added up first, whatever the
 * mode. */
static struct profile *collect(const struct profile *p, const struct remap_table *table)
{
	struct profile *own = profile_new();
	struct map by_place = {0};

	for (size_t i = 0; i < p->map_sites.count; i++) {
		const struct profile_site *from = &p->map_sites.at[i];

		merge_figures_site(reserve(&by_place, own, table->nodes[from->node], from), from,
				   PROFILE_MERGE_SUM);
	}
	map_free(&by_place);
	return own;
}

static struct profile_site *reserve_kind(struct profile *to, const struct profile_site *like)
{
	for (size_t i = 0; i < to->map_kinds.count; i++)
		if (to->map_kinds.at[i].kind == like->kind)
			return &to->map_kinds.at[i];
	*vec_push(&to->map_kinds) =
		(struct profile_site){.kind = like->kind,
				      .own_peak_time_ns = like->own_peak_time_ns,
				      .size_min = UINT64_MAX,
				      .lifetime_min_ns = UINT64_MAX};
	return &to->map_kinds.at[to->map_kinds.count - 1];
}

void merge_maps_add(struct merge_maps *m, struct profile *to, const struct profile *p,
		    const struct remap_table *table, uint64_t shift_ns)
{
	struct profile *own = collect(p, table);

	for (size_t i = 0; i < own->map_sites.count; i++) {
		struct profile_site *from = &own->map_sites.at[i];

		from->own_peak_time_ns = merge_times_later(from->own_peak_time_ns, shift_ns);
		merge_figures_site(reserve(&m->by_place, to, from->node, from), from,
				   to->run.merge);
	}
	profile_free(own);
	if (p->map_kinds.count && !to->map_kinds.count)
		to->map_totals.peak_time_ns =
			merge_times_later(p->map_totals.peak_time_ns, shift_ns);
	for (size_t i = 0; i < p->map_kinds.count; i++) {
		struct profile_site from = p->map_kinds.at[i];

		from.own_peak_time_ns = merge_times_later(from.own_peak_time_ns, shift_ns);
		merge_figures_site(reserve_kind(to, &from), &from, to->run.merge);
	}
	merge_figures_totals(&to->map_totals, &p->map_totals, to->run.merge);
}

void merge_maps_shift(struct profile *p, uint64_t by_ns)
{
	uint64_t *peak = &p->map_totals.peak_time_ns;

	if (!p->map_kinds.count)
		return;
	*peak = merge_times_later(*peak, by_ns);
	for (size_t i = 0; i < p->map_kinds.count; i++)
		p->map_kinds.at[i].own_peak_time_ns =
			merge_times_later(p->map_kinds.at[i].own_peak_time_ns, by_ns);
	for (size_t i = 0; i < p->map_sites.count; i++)
		p->map_sites.at[i].own_peak_time_ns =
			merge_times_later(p->map_sites.at[i].own_peak_time_ns, by_ns);
}

/* Of a maximum or mean of each stack, the sum is another than that of the sums. */
static void total_up(struct profile *p, struct profile_site *kind)
{
	struct profile_site sum = {.node = 0,
				   .kind = kind->kind,
				   .own_peak_bytes = kind->own_peak_bytes,
				   .own_peak_time_ns = kind->own_peak_time_ns,
				   .size_min = UINT64_MAX,
				   .lifetime_min_ns = UINT64_MAX};

	if (kind->kind == PROFILE_MAP_ALLOCATOR) /* which has no stacks */
		return;
	for (size_t i = 0; i < p->map_sites.count; i++)
		if (p->map_sites.at[i].kind == kind->kind)
			merge_figures_site(&sum, &p->map_sites.at[i], PROFILE_MERGE_SUM);
	sum.own_peak_bytes = kind->own_peak_bytes;
	*kind = sum;
}

void merge_maps_finish(struct profile *p, uint64_t count)
{
	if (!p->map_kinds.count)
		return;
	p->map_totals.stacks = p->map_sites.count;
	if (p->run.merge == PROFILE_MERGE_SUM)
		return;
	bool mean = p->run.merge == PROFILE_MERGE_MEAN;
	for (size_t i = 0; i < p->map_sites.count; i++) {
		if (mean)
			merge_figures_divide_site(&p->map_sites.at[i], count);
		merge_figures_balance(&p->map_sites.at[i]);
	}
	for (size_t i = 0; i < p->map_kinds.count; i++) {
		if (mean)
			merge_figures_divide_site(&p->map_kinds.at[i], count);
		total_up(p, &p->map_kinds.at[i]);
	}
	if (mean)
		merge_figures_divide_totals(&p->map_totals, count);
	merge_figures_total(&p->map_totals, p->map_sites.at, p->map_sites.count);
	p->map_totals.stacks = p->map_sites.count;
}

void merge_maps_fini(struct merge_maps *m)
{
	map_free(&m->by_place);
}
