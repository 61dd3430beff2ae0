/* weight.c -- what a sampled block stands for. Runs: in the collector process. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/weight.h"

#include <math.h>

#define WEIGHT_MAX 0x1p62 /* only a stream that breaks the contract can ask for more */

static uint64_t scramble(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Adds to the variance what the rounding brings. */
static uint64_t round_at_random(double value, double chance, double *variance)
{
	if (value > WEIGHT_MAX)
		value = WEIGHT_MAX;
	double whole = floor(value), part = value - whole;

	*variance += part * (1 - part);
	return (uint64_t)whole + (chance < part);
}

struct weight weight_get(uint64_t size, uint64_t period, uint64_t key)
{
	double p = -expm1(-((double)size + 1) / (double)(period ? period : 1));
	double square = (double)size * (double)size;
	double chance = (double)(scramble(key) >> 11) * 0x1p-53;
	struct weight w = {.blocks_variance = (1 - p) / (p * p)};

	w.bytes_variance = square * w.blocks_variance;
	w.bytes = round_at_random((double)size / p, chance, &w.bytes_variance);
	w.blocks = round_at_random(1 / p, chance, &w.blocks_variance);
	return w;
}
