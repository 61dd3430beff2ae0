/* ticks.h -- the target's clock as the collector sees it: choice, ratio to nanoseconds,
 * conversion.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Figures are kept in ticks and converted when a profile is built, with the ratio between two
 * pairs of (counter, CLOCK_MONOTONIC) taken as far apart as the recording is long: the longer,
 * the better. */
#ifndef MIDDEN_COLLECT_TICKS_H
#define MIDDEN_COLLECT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/clock.h"

struct ticks {
	uint32_t kind; /* enum segment_clock */
	uint64_t base; /* reading of the clock that is time 0 */
	uint64_t base_monotonic_ns;
	uint64_t base_unix_ns;
	uint64_t span_ticks; /* the ratio: span_ns per span_ticks */
	uint64_t span_ns;
	uint64_t scale; /* the same as ns per tick, 32.32 fixed point */
};

/* The clock for a library of this ELF machine: the CPU counter if it is ours and trustworthy. */
uint32_t ticks_choose(uint32_t machine);

/* True if a program of this ELF machine is one of ours. */
bool ticks_is_own(uint32_t machine);

/* Starts time 0 now and takes a first ratio (0.1 ms for the counter). */
void ticks_init(struct ticks *t, uint32_t kind);

/* Takes the ratio anew, from time 0 until now. */
void ticks_calibrate(struct ticks *t);

uint64_t ticks_get_now(const struct ticks *t);
uint64_t ticks_to_ns(const struct ticks *t, uint64_t ticks);
uint64_t ticks_from_ns(const struct ticks *t, uint64_t ns);

/* For every event: 9 digits are enough to find a power of two. */
static inline uint64_t ticks_to_rough_ns(const struct ticks *t, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * t->scale) >> 32);
}

#endif
