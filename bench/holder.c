/* holder.c -- holds blocks that point to each other, and tells how long it was kept from running.
 * Run by bench/looks.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: holder BLOCKS BYTES
 *
 * Makes BLOCKS blocks of BYTES bytes, half of whose words point to other blocks, and writes a line.
 * From then on a thread does nothing but read the clock. For every line of standard input, the
 * longest time in ns between two of its readings since the last line is written, and the next
 * such stretch begins. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic uint64_t longest_ns;

static uint64_t read_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *watch_clock(void *unused)
{
	uint64_t before = read_clock_ns();

	for (;;) {
		uint64_t now = read_clock_ns();

		if (now - before > atomic_load_explicit(&longest_ns, memory_order_relaxed))
			atomic_store_explicit(&longest_ns, now - before, memory_order_relaxed);
		before = now;
	}
	return unused;
}

static void fill(uintptr_t **blocks, size_t count, size_t bytes)
{
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < count; i++) {
		blocks[i] = malloc(bytes);
		if (!blocks[i])
			abort();
		for (size_t word = 0; word < bytes / sizeof(uintptr_t); word++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
			blocks[i][word] =
				word % 2 ? state : (uintptr_t)blocks[(state >> 20) % (i + 1)];
		}
	}
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	uintptr_t **blocks = count ? calloc(count, sizeof(*blocks)) : NULL;
	pthread_t thread;

	if (!blocks) {
		(void)fprintf(stderr, "usage: holder BLOCKS BYTES\n");
		return 2;
	}
	fill(blocks, count, bytes);
	if (pthread_create(&thread, NULL, watch_clock, NULL) != 0)
		return 1;
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (int c = getchar(); c != EOF; c = getchar()) {
		if (c != '\n')
			continue;
		(void)printf("%llu\n", (unsigned long long)atomic_exchange(&longest_ns, 0));
		(void)fflush(stdout);
	}
	return 0;
}
