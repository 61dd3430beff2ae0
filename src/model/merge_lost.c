/* merge_lost.c -- what several recorded programs have lost, and who holds the rest, in one profile.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_lost.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/merge_figures.h"

#define CLASS_BITS 2u
_Static_assert(PROFILE_LOST_CLASSES <= 1u << CLASS_BITS, "a class fits into its bits of a key");

/* A link in the merged profile's terms, behind its holder there. */
static void add_link(struct remap *remap, const struct profile *p, struct remap_table *table,
		     const uint32_t *sites, struct profile_link link)
{
	uint64_t bias = p->modules.at[link.module].bias;

	link.site = link.site ? sites[link.site - 1] + 1 : 0;
	link.name = remap_string(remap, p, table, link.name);
	if (link.module) {
		link.module = table->modules[link.module];
		link.address += remap->to->modules.at[link.module].bias - bias;
	}
	*vec_push(&remap->to->links) = link;
}

/* Notes the rows of a chain that were not wanted before: chains share their holders. */
static void want_chain(const struct profile *p, uint32_t *rows, uint32_t chain)
{
	for (; chain && chain <= p->links.count && !rows[chain - 1];
	     chain = p->links.at[chain - 1].holder)
		rows[chain - 1] = 1;
}

/* Adds the rows that are wanted, each once, and puts where it is now, plus one, in its place.
 * Holders come before what they hold. */
static void add_links(struct remap *remap, const struct profile *p, struct remap_table *table,
		      const uint32_t *sites, uint32_t *rows)
{
	for (size_t i = 0; i < p->links.count; i++) {
		struct profile_link link = p->links.at[i];

		if (!rows[i])
			continue;
		link.holder = link.holder && link.holder <= i ? rows[link.holder - 1] : 0;
		add_link(remap, p, table, sites, link);
		rows[i] = (uint32_t)remap->to->links.count;
	}
}

static struct profile_lost *reserve(struct map *by_class, struct profile *to, uint32_t site,
				    uint32_t class)
{
	uint32_t *known = map_reserve(by_class, (uint64_t)site << CLASS_BITS | class);

	if (!*known) {
		*vec_push(&to->lost) = (struct profile_lost){.site = site, .class = class};
		*known = (uint32_t)to->lost.count;
	}
	return &to->lost.at[*known - 1];
}

static void add_figures(struct profile_lost *to, const struct profile_lost *from,
			enum profile_merge mode)
{
	to->blocks = merge_figures_value(to->blocks, from->blocks, mode);
	to->bytes = merge_figures_value(to->bytes, from->bytes, mode);
	to->held_blocks = merge_figures_value(to->held_blocks, from->held_blocks, mode);
	to->held_bytes = merge_figures_value(to->held_bytes, from->held_bytes, mode);
}

static void add_look(struct profile_run *to, const struct profile_run *from)
{
	to->lost_flags |= from->lost_flags;
	to->lost_pause_ns += from->lost_pause_ns;
	to->lost_read_bytes += from->lost_read_bytes;
	to->lost_unread_bytes += from->lost_unread_bytes;
	if (from->lost_time_ns > to->lost_time_ns)
		to->lost_time_ns = from->lost_time_ns;
}

void merge_lost_add(struct merge_lost *m, struct remap *remap, const struct profile *p,
		    struct remap_table *table, const uint32_t *sites)
{
	struct profile *own = profile_new(); /* two sites of an input may be one: summed up first */
	uint32_t *links = mem_new(p->links.count + 1, sizeof(*links));
	struct map by_class = {0};

	for (size_t i = 0; i < p->lost.count; i++) {
		const struct profile_lost *from = &p->lost.at[i];
		struct profile_lost *row = reserve(&by_class, own, sites[from->site], from->class);

		add_figures(row, from, PROFILE_MERGE_SUM);
		row->chain = row->chain ? row->chain : from->chain;
	}
	for (size_t i = 0; i < own->lost.count; i++) {
		const struct profile_lost *from = &own->lost.at[i];
		struct profile_lost *row =
			reserve(&m->by_class, remap->to, from->site, from->class);

		add_figures(row, from, remap->to->run.merge);
		if (!row->chain)
			want_chain(p, links, from->chain);
	}
	add_links(remap, p, table, sites, links);
	for (size_t i = 0; i < own->lost.count; i++) {
		const struct profile_lost *from = &own->lost.at[i];
		struct profile_lost *row =
			reserve(&m->by_class, remap->to, from->site, from->class);

		if (!row->chain && from->chain && from->chain <= p->links.count)
			row->chain = links[from->chain - 1];
	}
	add_look(&remap->to->run, &p->run);
	map_free(&by_class);
	free(links);
	profile_free(own);
}

void merge_lost_divide(struct profile *p, uint64_t count)
{
	for (size_t i = 0; i < p->lost.count; i++) {
		struct profile_lost *row = &p->lost.at[i];

		row->blocks = merge_figures_divide(row->blocks, count);
		row->bytes = merge_figures_divide(row->bytes, count);
		row->held_blocks = merge_figures_divide(row->held_blocks, count);
		row->held_bytes = merge_figures_divide(row->held_bytes, count);
	}
}

void merge_lost_fini(struct merge_lost *m)
{
	map_free(&m->by_class);
}
