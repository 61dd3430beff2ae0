/* cells.c -- memory for the shards of the live table, cut from huge pages and used again. Runs: in
 * the collector process, one thread, when a shard changes its size.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/cells.h"

#include "base/pages.h"

#define REGION_UNITS (CELLS_SHARED_MOST / CELLS_UNIT_BYTES)
#define REGION_BYTES CELLS_SHARED_MOST

void cells_fini(struct cells *c)
{
	for (size_t i = 0; i < c->regions.count; i++)
		pages_free(c->regions.at[i].at, REGION_BYTES);
	vec_free(&c->regions);
}

static uint64_t get_mask(size_t bytes)
{
	size_t units = bytes / CELLS_UNIT_BYTES;

	return units < REGION_UNITS ? (UINT64_C(1) << units) - 1 : UINT64_MAX;
}

/* The units at which a cell of this size can start, as bits. */
static uint64_t find_room(const struct cell_region *region, size_t bytes)
{
	uint64_t free = ~region->used;
	uint64_t starts = free;

	for (size_t i = 1; i < bytes / CELLS_UNIT_BYTES; i++)
		starts &= free >> i;
	return starts;
}

static void *take_from(struct cell_region *region, size_t bytes)
{
	uint64_t starts = find_room(region, bytes);
	unsigned first = starts ? (unsigned)__builtin_ctzll(starts) : 0;

	if (!starts)
		return NULL;
	region->used |= get_mask(bytes) << first;
	return region->at + first * CELLS_UNIT_BYTES;
}

/* A copy of the collector that builds a profile has no use for the table, and copying one of
 * millions of blocks would hold the collector up. */
static void *new_pages(size_t bytes)
{
	void *block = pages_new(bytes);

	pages_withhold(block, bytes);
	return block;
}

void *cells_take(struct cells *c, size_t bytes)
{
	void *cell = NULL;

	if (bytes > REGION_BYTES) /* too big to share one */
		return new_pages(bytes);
	for (size_t i = 0; !cell && i < c->regions.count; i++)
		cell = take_from(&c->regions.at[i], bytes);
	if (cell)
		return cell;
	*vec_push(&c->regions) = (struct cell_region){.at = new_pages(REGION_BYTES)};
	return take_from(&c->regions.at[c->regions.count - 1], bytes);
}

void cells_lend(struct cells *c, bool lent)
{
	for (size_t i = 0; i < c->regions.count; i++)
		(lent ? pages_lend : pages_withhold)(c->regions.at[i].at, REGION_BYTES);
}

static size_t find_region(const struct cells *c, const char *cell)
{
	size_t i = 0;

	while (cell < c->regions.at[i].at || cell >= c->regions.at[i].at + REGION_BYTES)
		i++;
	return i;
}

void cells_put(struct cells *c, void *cell, size_t bytes)
{
	if (bytes > REGION_BYTES) {
		pages_free(cell, bytes);
		return;
	}
	size_t i = find_region(c, cell);
	struct cell_region *region = &c->regions.at[i];
	size_t first = (size_t)((char *)cell - region->at) / CELLS_UNIT_BYTES;

	region->used &= ~(get_mask(bytes) << first);
	if (region->used)
		return;
	pages_free(region->at, REGION_BYTES);
	*region = c->regions.at[--c->regions.count];
}
