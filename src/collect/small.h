/* small.h -- small objects of Python, which live in arenas that it maps: what they hold in all.
 * Runs: in the collector process, for each of them that is an event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SMALL_H
#define MIDDEN_COLLECT_SMALL_H

#include <stdint.h>

struct small {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
};

static inline void small_add(struct small *s, uint64_t bytes, uint64_t blocks)
{
	s->live_bytes += bytes;
	s->live_blocks += blocks;
	if (s->live_bytes > s->peak_bytes)
		s->peak_bytes = s->live_bytes;
}

/* What was never added can go in a damaged stream alone. */
static inline void small_remove(struct small *s, uint64_t bytes, uint64_t blocks)
{
	s->live_bytes -= bytes < s->live_bytes ? bytes : s->live_bytes;
	s->live_blocks -= blocks < s->live_blocks ? blocks : s->live_blocks;
}

#endif
