/* collector.c -- the collector alone: CPU time per event, without a target beside it. Run by
 * bench/run.py and by hand: collector LOAD EVENTS.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   small   one thread, 64 sites, one block made and freed, a few addresses
 *   merge   the same in two threads whose events alternate
 *   liveN   one thread, N live blocks; one is freed and one made, at random places
 *
 * The events are written into a real segment, 32 chunks at a time, and drained by the real code;
 * only the draining is timed. Prints `ns-per-event`, the median over these rounds, and
 * `least-ns-per-event`, that of the quickest one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "producer.h"

#define ROUND_EVENTS 24576u /* 0.5 MiB: as much as gathers while the collector rests */
#define SITES	     64u

struct load {
	struct collector *collector;
	struct producer by[2];
	uint64_t *addresses; /* of live blocks */
	size_t count;
	uint64_t spare; /* freed last: the next to be given out */
	uint64_t random;
	uint64_t made;
};

static uint64_t next_random(struct load *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

static uint64_t get_stamp(const struct load *l)
{
	return ticks_get_now(&l->collector->clock);
}

static void make(struct load *l, struct producer *by, uint64_t ptr, uint64_t size)
{
	producer_alloc(by, get_stamp(l), ptr, size, 1 + (uint32_t)(l->made++ % SITES));
}

/* As malloc would, it gives out the address of the last free again: one for each size class. */
static void write_pair(struct load *l, struct producer *by)
{
	uint64_t size = 16 + (l->made * 37 & 255);
	uint64_t ptr = 0x555500001000 + (by->slot * 16 + size / 16) * 1024;

	make(l, by, ptr, size);
	producer_free(by, get_stamp(l), ptr);
}

static void write_small(struct load *l)
{
	for (uint32_t i = 0; i < ROUND_EVENTS / 2; i++)
		write_pair(l, &l->by[0]);
}

static void write_merge(struct load *l)
{
	for (uint32_t i = 0; i < ROUND_EVENTS / 2; i++)
		write_pair(l, &l->by[i % 2]);
}

static void write_live(struct load *l)
{
	for (uint32_t i = 0; i < ROUND_EVENTS / 2; i++) {
		uint64_t *at = &l->addresses[next_random(l) % l->count];
		uint64_t freed = *at;

		producer_free(&l->by[0], get_stamp(l), freed);
		make(l, &l->by[0], l->spare, 16 + (l->made * 37 & 63));
		*at = l->spare;
		l->spare = freed;
	}
}

static uint64_t read_cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double drain(struct load *l)
{
	uint64_t start_ns = read_cpu_ns();
	uint64_t events = collect_drain(l->collector);

	return events ? (double)(read_cpu_ns() - start_ns) / (double)events : 0;
}

/* Prints what it took to make the blocks, growing the table, apart from the rest. */
static void fill(struct load *l, size_t count)
{
	double ns = 0;
	l->addresses = mem_new(count, sizeof(l->addresses[0]));
	l->count = count;
	for (size_t i = 0; i < count; i++) {
		l->addresses[i] = 0x555500001000 + i * 64;
		make(l, &l->by[0], l->addresses[i], 16 + (i * 37 & 63));
		if (i % ROUND_EVENTS == ROUND_EVENTS - 1)
			ns += drain(l) * ROUND_EVENTS;
	}
	l->spare = 0x555500001000 + count * 64;
	(void)drain(l);
	printf("fill-ns-per-event %.2f\n", ns / (double)(count / ROUND_EVENTS * ROUND_EVENTS));
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(struct load *l, void (*write)(struct load *), size_t rounds)
{
	double *ns = mem_new(rounds, sizeof(*ns));

	for (size_t i = 0; i < rounds; i++) {
		write(l);
		ns[i] = drain(l);
	}
	qsort(ns, rounds, sizeof(*ns), compare_doubles);
	printf("ns-per-event %.2f\n", ns[rounds / 2]);
	printf("least-ns-per-event %.2f\n", ns[0]);
	free(ns);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "small";
	size_t rounds = (argc > 2 ? strtoull(argv[2], NULL, 10) : 5000000) / ROUND_EVENTS + 1;
	size_t live = strncmp(name, "live", 4) ? 0 : strtoull(name + 4, NULL, 10);
	struct load l = {.collector = producer_new_collector(0), .random = 88172645463325252u};

	if (!l.collector)
		return 1;
	l.by[0] = producer_open(l.collector, 1);
	if (strcmp(name, "merge") == 0)
		l.by[1] = producer_open(l.collector, 2);
	if (live)
		fill(&l, live);
	measure(&l, live ? write_live : l.by[1].slot ? write_merge : write_small, rounds);
	collect_free(l.collector);
	free(l.addresses);
	return 0;
}
