/* clock.h -- the one clock that target and collector both read. Pure: an instruction or a vdso
 * call.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of events across threads rests on these stamps, so the counter is read only after
 * all earlier instructions are done (rdtscp / isb): a free must not be stamped before the load
 * that brought it the pointer. */
#ifndef MIDDEN_FORMAT_CLOCK_H
#define MIDDEN_FORMAT_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "format/segment.h"

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high, cpu;

	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
#else
#error "midden knows x86_64 and aarch64"
#endif
}

/* No load that follows is done before the clock was read. */
static inline void clock_fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* The same where no order across threads hangs on it: the process has one thread. Saves the wait
 * on x86_64. */
static inline uint64_t clock_counter_alone(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
#else
	return clock_counter();
#endif
}

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_read(uint32_t kind)
{
	return kind == SEGMENT_CLOCK_COUNTER ? clock_counter() : clock_monotonic_ns();
}

#endif
