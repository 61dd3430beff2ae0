/* pack_memory.c -- what a profile tells beyond its blocks, as the viewer's page reads it: maps, who
 * keeps pages resident, what is lost. Runs: offline; called by pack.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/pack_memory.h"

#include "model/leaks.h"

/* ---- maps ------------------------------------------------------------------------------------ */

static const struct packing_member mapped_numbers[] = {
	PACKING_MEMBER(struct profile_point, mapped_bytes),
	PACKING_MEMBER(struct profile_point, mapped_count),
	PACKING_MEMBER(struct profile_point, mapped_peak_bytes),
	{NULL, 0},
};

/* Recordings of before have maps and no such columns. */
static bool has_maps_over_time(const struct profile *p)
{
	for (size_t i = 0; i < p->points.count; i++)
		if (p->points.at[i].mapped_peak_bytes)
			return true;
	return !p->map_totals.peak_bytes;
}

static void add_maps_over_time(struct packing *p)
{
	const struct packing_table t = PACKING_TABLE("point", p->profile->points);

	if (p->profile->map_kinds.count && has_maps_over_time(p->profile))
		packing_add_numbers(p, &t, mapped_numbers);
}

static void add_maps(struct packing *p)
{
	const struct packing_table t = PACKING_TABLE("map", p->profile->map_sites);
	const struct profile_site *sites = p->profile->map_sites.at;

	if (!p->profile->map_kinds.count)
		return;
	uint32_t *nodes = packing_add_column(p, PACKING_U32, t.count, t.name, "node");
	uint32_t *kinds = packing_add_column(p, PACKING_U32, t.count, t.name, "kind");
	/* Of threads nothing is known, of rules for leaks nothing is asked. */
	(void)packing_add_column(p, PACKING_U32, t.count, t.name, "thread");
	(void)packing_add_column(p, PACKING_U32, t.count, t.name, "rule");
	for (size_t i = 0; i < t.count; i++) {
		nodes[i] = packing_find_stack(p, sites[i].node);
		kinds[i] = (uint32_t)sites[i].kind;
	}
	packing_add_numbers(p, &t, packing_site_numbers);
	packing_add_own(p, sites, t.count, t.name);
}

/* ---- residency ------------------------------------------------------------------------------- */

static const struct packing_member pin_ids[] = {
	PACKING_MEMBER(struct profile_pin, survey),
	PACKING_MEMBER(struct profile_pin, site),
	{NULL, 0},
};

static const struct packing_member pin_numbers[] = {
	PACKING_MEMBER(struct profile_pin, live_blocks),
	PACKING_MEMBER(struct profile_pin, live_bytes),
	PACKING_MEMBER(struct profile_pin, resident_bytes),
	PACKING_MEMBER(struct profile_pin, pinned_bytes),
	PACKING_MEMBER(struct profile_pin, lone_pages),
	{"alone_bytes", offsetof(struct profile_pin, sole_bytes)},
	{NULL, 0},
};

static const struct packing_member cell_ids[] = {
	PACKING_MEMBER(struct profile_cell, survey),
	PACKING_MEMBER(struct profile_cell, pages),
	PACKING_MEMBER(struct profile_cell, resident_pages),
	PACKING_MEMBER(struct profile_cell, held_pages),
	PACKING_MEMBER(struct profile_cell, site),
	{NULL, 0},
};

static const struct packing_member cell_numbers[] = {
	PACKING_MEMBER(struct profile_cell, start),
	PACKING_MEMBER(struct profile_cell, live_bytes),
	{NULL, 0},
};

static void add_residency(struct packing *p)
{
	const struct packing_table pins = PACKING_TABLE("pin", p->profile->pins);
	const struct packing_table cells = PACKING_TABLE("cell", p->profile->cells);

	if (!p->profile->surveys.count)
		return;
	packing_add_ids(p, &pins, pin_ids);
	packing_add_numbers(p, &pins, pin_numbers);
	packing_add_ids(p, &cells, cell_ids);
	packing_add_numbers(p, &cells, cell_numbers);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

static const struct packing_member lost_ids[] = {
	PACKING_MEMBER(struct profile_lost, site),
	PACKING_MEMBER(struct profile_lost, class),
	PACKING_MEMBER(struct profile_lost, chain),
	{NULL, 0},
};

static const struct packing_member lost_numbers[] = {
	PACKING_MEMBER(struct profile_lost, blocks),
	PACKING_MEMBER(struct profile_lost, bytes),
	PACKING_MEMBER(struct profile_lost, held_blocks),
	PACKING_MEMBER(struct profile_lost, held_bytes),
	{NULL, 0},
};

static const struct packing_member link_ids[] = {
	PACKING_MEMBER(struct profile_link, site),
	PACKING_MEMBER(struct profile_link, holder),
	{NULL, 0},
};

static const struct packing_member link_numbers[] = {
	PACKING_MEMBER(struct profile_link, offset),
	PACKING_MEMBER(struct profile_link, inside),
	{NULL, 0},
};

/* The page has the words that the command has. */
static void name_links(struct packing *p)
{
	size_t count = p->profile->links.count;
	uint32_t *blocks = packing_add_column(p, PACKING_U32, count, "link", "block");
	uint32_t *texts = packing_add_column(p, PACKING_U32, count, "link", "text");

	for (size_t i = 0; i < count; i++) {
		char *text = leaks_name_root(p->profile, &p->profile->links.at[i]);

		blocks[i] = !text;
		if (!text)
			continue;
		*vec_push(&p->made) = text;
		texts[i] = packing_find_text(p, text);
	}
}

static void add_lost(struct packing *p)
{
	const struct packing_table lost = PACKING_TABLE("lost", p->profile->lost);
	const struct packing_table links = PACKING_TABLE("link", p->profile->links);

	if (!p->profile->run.lost_flags)
		return;
	packing_add_ids(p, &lost, lost_ids);
	packing_add_numbers(p, &lost, lost_numbers);
	packing_add_ids(p, &links, link_ids);
	packing_add_numbers(p, &links, link_numbers);
	name_links(p);
}

void pack_memory_add(struct packing *p)
{
	add_maps(p);
	add_maps_over_time(p);
	add_residency(p);
	add_lost(p);
}
