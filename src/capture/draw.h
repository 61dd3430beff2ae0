/* draw.h -- chance: a thread's random numbers, and what follows from them.
 * Runs: any thread of the target, inside malloc. Called by sampler.c. Pure arithmetic; libm is not
 * there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_DRAW_H
#define MIDDEN_CAPTURE_DRAW_H

#include <stdint.h>

/* A generator's first state; the same for the same seed and thread. */
uint64_t draw_seed(uint64_t seed, uint32_t serial);

/* Evenly distributed in (0, 1]. */
double draw_even(uint64_t *state);

/* How far it is to the next sample, the bytes of the first one included: 1 + the whole part of an
 * exponentially distributed number with this mean. */
uint64_t draw_allowance(uint64_t *state, uint64_t period);

/* The probability that a block of so many bytes is sampled. */
double draw_chance(uint64_t bytes, uint64_t period);

#endif
