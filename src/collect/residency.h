/* residency.h -- whose blocks keep which pages in memory. Runs: in a copy of the collector; pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is resident are pages, not bytes. A page that holds live blocks is theirs: what of it is not
 * live (freed blocks, the allocator's own words, sizes rounded up) is split over their sites, by
 * their live bytes on the page, and called pinned. Pages without a live block are the allocator's.
 */
#ifndef MIDDEN_COLLECT_RESIDENCY_H
#define MIDDEN_COLLECT_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/pagemap.h"
#include "collect/placed.h"
#include "profile/profile.h"

/* A state of a run, beside those of pagemap.h: only pages with a live block count, as the others
 * are not the allocator's. */
#define RESIDENCY_FOREIGN      16u

#define RESIDENCY_CELLS_MOST   4096u /* of the page map: as many as a screen has places for */
#define RESIDENCY_EXTENTS_MOST 4096u /* each begins a cell of its own */

/* Memory that blocks live in. */
struct residency_extent {
	uint64_t start;
	uint64_t end;
};

/* All in order of address; runs and extents do not overlap, blocks should not. */
struct residency_input {
	const struct placed_list *blocks;
	const struct pagemap_run *runs;
	size_t run_count;
	const struct residency_extent *extents;
	size_t extent_count;
	uint64_t page_bytes;
	uint32_t site_count; /* blocks have smaller ones */
};

/* Zero-initialise. */
struct residency {
	struct profile_survey totals;	/* those that follow from the input */
	VEC(struct profile_pin) pins;	/* one for each site, in order */
	VEC(struct profile_cell) cells; /* the page map */
};

void residency_join(struct residency *r, const struct residency_input *in);
void residency_fini(struct residency *r);

#endif
