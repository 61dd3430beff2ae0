/* habits.h -- the habits that findings are about, one function each. Runs: offline, called by
 * findings.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_HABITS_H
#define MIDDEN_MODEL_HABITS_H

#include "model/findings.h"

/* What they work on; they add to `findings`. */
struct habits {
	const struct model *model;
	const uint8_t *verdicts; /* by site, or NULL */
	uint32_t *places;	 /* by site: its place in the program, from 1; 0: filtered out */
	size_t place_count;
	struct findings *findings;
};

/* 0 to 1, whatever a damaged file claims. */
static inline double habits_share(uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return whole ? 1.0 : 0.0;
	return (double)part / (double)whole;
}

void habits_find_temporary(struct habits *h);
void habits_find_regrown(struct habits *h);
void habits_find_tiny(struct habits *h);

/* Those that look at time. False if the recording is too short for it. */
void habits_find_left_behind(struct habits *h);
bool habits_find_growing_leaks(struct habits *h);

#endif
