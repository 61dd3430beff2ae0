/* maps.h -- what memory the process has, as the kernel lists it.
 * Runs: any thread of the target, inside malloc. Called by codemaps.c and lock.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_MAPS_H
#define MIDDEN_CAPTURE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct maps_range {
	uint64_t start;
	uint64_t end;
	bool executable;
};

/* Called for each range, lowest first; false: no more of them. */
typedef bool maps_fn(void *context, const struct maps_range *range);

/* False: the list cannot be read. */
bool maps_read(maps_fn *each, void *context);

#endif
