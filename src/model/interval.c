/* interval.c -- within what an estimate of a sampled profile lies. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/interval.h"

#include <math.h>

#include "base/whole.h"

#define Z_95	   1.959963984540054 /* deviations that hold 95 % of a normal distribution */
#define FEW_EVENTS 4.0		     /* so many samples of small blocks tell of all of them */
#define UNSEEN_95  2.995732273553991 /* -ln 0.05: so many periods are missed once in 20 times */

bool interval_is_needed(struct amount a)
{
	return a.period && (a.bytes_variance > 0 || a.blocks_variance > 0 || a.unseen_block_bytes);
}

/* A quantile of the gamma distribution, `z` deviations from the middle (Wilson and Hilferty): good
 * to 2 % from shape 1 on. */
static double gamma_quantile(double shape, double z)
{
	double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));

	return root > 0 ? shape * root * root * root : 0;
}

/* `seen` events, each of which stands for `unit`; half an event more makes the interval right on
 * average (Jeffreys). */
static struct interval around(double sure, double seen, double unit)
{
	double low = sure + unit * gamma_quantile(seen + 0.5, -Z_95);
	double high = sure + unit * gamma_quantile(seen + 0.5, Z_95);

	/* The whole numbers between both, of which there is one at least. */
	if (ceil(low) > floor(high))
		low = high = round(sure + unit * seen);
	return (struct interval){.low = whole_get(ceil(low)), .high = whole_get(floor(high))};
}

/* A small block that was sampled stands for `period` bytes and adds the square of that to the
 * variance; one much larger than the period is sure and adds nothing. So the variance tells how
 * many random events there were, and what is left of the sum is sure. */
static double get_chance(struct amount a)
{
	double chance = a.bytes_variance / (double)a.period;

	return chance < (double)a.bytes ? chance : (double)a.bytes;
}

struct interval interval_get_bytes(struct amount a)
{
	double period = (double)a.period, sum = (double)a.bytes;

	if (!a.period || (a.bytes_variance <= 0 && !a.unseen_block_bytes))
		return (struct interval){a.bytes, a.bytes};
	double chance = get_chance(a);
	return around(sum - chance, chance / period, period);
}

/* Here small blocks outweigh large ones by far, and all are taken for random events of the same
 * weight. */
static struct interval get_seen_blocks(struct amount a)
{
	double sum = (double)a.blocks;

	if (!a.period || a.blocks_variance <= 0 || a.blocks == 0)
		return (struct interval){a.blocks, a.blocks};
	return around(0, sum * sum / a.blocks_variance, a.blocks_variance / sum);
}

/* A large block that is sure to be seen says nothing of small ones that were not: where there were
 * hardly any random events, the bytes that may be missing are taken for blocks of the usual size.
 */
struct interval interval_get_blocks(struct amount a)
{
	struct interval seen = get_seen_blocks(a);

	if (!a.period || !a.unseen_block_bytes || get_chance(a) > FEW_EVENTS * (double)a.period)
		return seen;
	uint64_t missing = interval_get_bytes(a).high - a.bytes;
	uint64_t most = a.blocks + missing / a.unseen_block_bytes;
	if (most > seen.high)
		seen.high = most;
	return seen;
}

static uint64_t get_error(double variance)
{
	return variance > 0 ? whole_get(ceil(Z_95 * sqrt(variance))) : 0;
}

uint64_t interval_get_bytes_error(struct amount change)
{
	return get_error(change.bytes_variance);
}

uint64_t interval_get_blocks_error(struct amount change)
{
	return get_error(change.blocks_variance);
}

uint64_t interval_get_limit(const struct profile *p)
{
	return whole_get(UNSEEN_95 * (double)p->run.sample_period);
}
