/* ticks.c -- the target's clock as the collector sees it: choice, ratio to nanoseconds, conversion.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/ticks.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* 50 ns of uncertainty in 100 us: three digits to start with */
#define FIRST_SPAN_NS UINT64_C(100000)
#define PAIR_TRIES    5

struct pair {
	uint64_t ticks;
	uint64_t monotonic_ns;
};

#if defined(__x86_64__)

#define OWN_MACHINE EM_X86_64

/* The kernel watches the counters of all cores and leaves "tsc" when they drift apart. kvm-clock
 * and the like are computed from the counter, so they vouch for it as well. */
static bool has_trusted_source(void)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
	char name[64] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t bytes = read(fd, name, sizeof(name) - 1);
	(void)close(fd);
	name[bytes > 0 ? bytes : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (!strcmp(name, slow[i]))
			return false;
	return name[0] != '\0';
}

static bool has_invariant_counter(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

static bool has_usable_counter(void)
{
	return has_invariant_counter() && has_trusted_source();
}

#elif defined(__aarch64__)

#define OWN_MACHINE EM_AARCH64

/* The architecture demands one system counter of constant rate. */
static bool has_usable_counter(void)
{
	return true;
}

#endif

bool ticks_is_own(uint32_t machine)
{
	return machine == OWN_MACHINE;
}

uint32_t ticks_choose(uint32_t machine)
{
	bool counter = machine == OWN_MACHINE && has_usable_counter();

	return counter ? SEGMENT_CLOCK_COUNTER : SEGMENT_CLOCK_MONOTONIC;
}

/* The tightest of a few readings, so that an interrupt between the two clocks does not count. */
static struct pair read_pair(uint32_t kind)
{
	struct pair best = {0, 0};
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_read(kind);
		uint64_t ns = clock_monotonic_ns();
		uint64_t after = clock_read(kind);

		if (after - before < width) {
			width = after - before;
			best = (struct pair){before + width / 2, ns};
		}
	}
	return best;
}

static void set_ratio(struct ticks *t, uint64_t span_ticks, uint64_t span_ns)
{
	t->span_ticks = span_ticks;
	t->span_ns = span_ns;
	t->scale = (uint64_t)(((unsigned __int128)span_ns << 32) / span_ticks);
}

void ticks_calibrate(struct ticks *t)
{
	if (t->kind == SEGMENT_CLOCK_MONOTONIC)
		return;
	struct pair now = read_pair(t->kind);
	if (now.ticks > t->base && now.monotonic_ns > t->base_monotonic_ns)
		set_ratio(t, now.ticks - t->base, now.monotonic_ns - t->base_monotonic_ns);
}

static uint64_t read_unix_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void ticks_init(struct ticks *t, uint32_t kind)
{
	*t = (struct ticks){.kind = kind, .base_unix_ns = read_unix_ns()};
	set_ratio(t, 1, 1);
	if (kind == SEGMENT_CLOCK_MONOTONIC) {
		t->base = t->base_monotonic_ns = clock_monotonic_ns();
		return;
	}
	struct pair start = read_pair(kind);
	t->base = start.ticks;
	t->base_monotonic_ns = start.monotonic_ns;
	while (clock_monotonic_ns() - t->base_monotonic_ns < FIRST_SPAN_NS)
		continue;
	ticks_calibrate(t);
}

uint64_t ticks_get_now(const struct ticks *t)
{
	return (clock_read(t->kind) - t->base) & SEGMENT_TICKS_MASK;
}

uint64_t ticks_to_ns(const struct ticks *t, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * t->span_ns / t->span_ticks);
}

uint64_t ticks_from_ns(const struct ticks *t, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * t->span_ticks / t->span_ns);
}
