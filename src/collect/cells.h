/* cells.h -- memory for the shards of the live table, cut from huge pages and used again. Runs: in
 * the collector process, one thread, when a shard changes its size.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A table that grows to five million blocks goes through shards of four times its own size. Had
 * each of them come from the kernel, which clears what it hands out, that would take a third of the
 * time to fill the table; memory that was used a moment ago is in the cache besides. */
#ifndef MIDDEN_COLLECT_CELLS_H
#define MIDDEN_COLLECT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define CELLS_UNIT_BYTES  ((size_t)128 << 10)
#define CELLS_SHARED_MOST (64 * CELLS_UNIT_BYTES)

struct cell_region {
	char *at;
	uint64_t used; /* a bit for each unit */
};

/* Zero-initialise. */
struct cells {
	VEC(struct cell_region) regions;
};

void cells_fini(struct cells *c);

/* What is in it is not cleared. `bytes` are whole units. Never NULL. */
void *cells_take(struct cells *c, size_t bytes);

/* Whether copies of the process that fork makes have the cells, which they do not at first; those
 * of more than CELLS_SHARED_MOST bytes apart, which are the owner's to lend. */
void cells_lend(struct cells *c, bool lent);

/* `bytes` as it was taken. A region without cells goes back to the kernel. */
void cells_put(struct cells *c, void *cell, size_t bytes);

#endif
