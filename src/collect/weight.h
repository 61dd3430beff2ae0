/* weight.h -- what a sampled block stands for. Runs: in the collector process. Pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block of n bytes is sampled with probability p = 1 - exp(-(n+1)/period), so each sample counts
 * for 1/p blocks of its size: sums of these are right on average, whatever sizes are mixed. Figures
 * are whole numbers, so a weight is rounded down or up at random, with the odds that keep the mean:
 * 1.58 counts as 2 in 58 of 100 cases. (docs/sampling.md) */
#ifndef MIDDEN_COLLECT_WEIGHT_H
#define MIDDEN_COLLECT_WEIGHT_H

#include <stdint.h>

struct weight {
	uint64_t bytes;
	uint64_t blocks;
	/* By how much the above are off on average, squared: unbiased estimates, to be added up. */
	double bytes_variance;
	double blocks_variance;
};

/* `key` settles which way is rounded; any number that differs from block to block. */
struct weight weight_get(uint64_t size, uint64_t period, uint64_t key);

#endif
