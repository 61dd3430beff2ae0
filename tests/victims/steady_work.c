/* steady_work.c -- works for a given time or number of steps and then exits with 42. Run by
 * tests/e2e/collector.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: THREADS STEPS. Each thread makes STEPS blocks of 16 + step % 240 bytes, keeping the
 * last 1,000 alive, and frees all at its end: nothing is left, allocations equal frees equal
 * THREADS x STEPS. note[0] is CLOCK_MONOTONIC in ns at the end of the work, note[1] at its start,
 * note[2] the longest single step. */
#include "truth.h"

#include <pthread.h>
#include <time.h>

enum { WINDOW = 1000, THREADS_MOST = 64 };

static uint64_t steps;
static volatile uint64_t slowest[THREADS_MOST + 1];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t size_of(uint64_t step)
{
	return 16 + step % 240;
}

static void *work(void *argument)
{
	size_t me = (size_t)argument;
	void *window[WINDOW] = {0};
	uint64_t before = now_ns();

	truth_use(me);
	for (uint64_t n = 0; n < steps; n++) {
		if (window[n % WINDOW])
			truth_free(window[n % WINDOW], size_of(n - WINDOW));
		window[n % WINDOW] = truth_malloc(size_of(n));
		uint64_t after = now_ns();
		if (after - before > slowest[me])
			slowest[me] = after - before;
		before = after;
	}
	for (uint64_t n = steps < WINDOW ? 0 : steps - WINDOW; n < steps; n++)
		truth_free(window[n % WINDOW], size_of(n));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MOST];
	uint64_t worst = 0;

	truth_expect(argc == 3);
	size_t threads = strtoul(argv[1], NULL, 10);
	steps = strtoull(argv[2], NULL, 10);
	truth_use(threads);
	truth_note(1, now_ns());
	for (size_t i = 0; i < threads; i++)
		truth_expect(pthread_create(&thread[i], NULL, work, (void *)(i + 1)) == 0);
	for (size_t i = 0; i < threads; i++) {
		truth_expect(pthread_join(thread[i], NULL) == 0);
		if (slowest[i + 1] > worst)
			worst = slowest[i + 1];
	}
	truth_note(0, now_ns());
	truth_note(2, worst);
	return 42;
}
