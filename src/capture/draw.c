/* draw.c -- chance: a thread's random numbers, and what follows from them.
 * Runs: any thread of the target, inside malloc. Called by sampler.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/draw.h"

#include <string.h>

#define LN2 0.69314718055994530942

/* Steps by an odd constant and scrambles: a bijection, so that no state is worse than another. */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t next(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return scramble(*state);
}

uint64_t draw_seed(uint64_t seed, uint32_t serial)
{
	return scramble(scramble(seed) + serial);
}

/* All 53 bits that a double has: fewer would cut off the tail of the gaps. */
double draw_even(uint64_t *state)
{
	return (double)((next(state) >> 11) + 1) * 0x1p-53;
}

/* The natural logarithm of x in (0, 1]: ln m = 2 artanh((m-1)/(m+1)), where the mantissa m is
 * between the roots of 1/2 and 2, so that nine terms of the series are exact to 1e-15. */
static double logarithm(double x)
{
	uint64_t bits;
	double m, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	int exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.4142135623730951) {
		m /= 2;
		exponent++;
	}
	double s = (m - 1) / (m + 1);
	for (int term = 17; term >= 1; term -= 2)
		sum = sum * s * s + 1.0 / term;
	return 2 * s * sum + exponent * LN2;
}

uint64_t draw_allowance(uint64_t *state, uint64_t period)
{
	return (uint64_t)(-logarithm(draw_even(state)) * (double)period) + 1;
}

/* 1 - e^-x = 1 - (e^-(x/2^k))^(2^k): the series where x is small, then squaring, in the form of
 * 1 - (1-p)^2 = p (2 - p), which loses no digits. */
double draw_chance(uint64_t bytes, uint64_t period)
{
	double x = ((double)bytes + 1) / (double)period, sum = 0;
	int halvings = 0;

	if (x > 40)
		return 1;
	while (x > 0.125) {
		x /= 2;
		halvings++;
	}
	for (int term = 9; term >= 1; term--)
		sum = x / term * (1 - sum);
	for (; halvings > 0; halvings--)
		sum *= 2 - sum;
	return sum;
}
