/* service.c -- works when it is told to, like a service under load. Run by tests/soak/run.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Has a pool of two threads. For every line of standard input, a number of milliseconds, each of
 * them handles requests for that long; then the number of requests is written. A request makes a
 * few blocks of 16 to 2,063 bytes, fills and reads them, and puts one of them in the place of
 * another that it frees: 8,192 stay. */
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, PLACES = 8192, PARTS = 4, LOOK = 64 };

struct worker {
	pthread_t thread;
	void **places;
	uint64_t random;
	uint64_t requests;
	uint64_t sum;
	uint64_t end_ns;
};

static struct worker workers[THREADS];
static pthread_barrier_t begin, done; /* all of the pool and main: what they share is theirs */

static uint64_t read_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t draw(struct worker *w)
{
	w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return w->random >> 33;
}

static void *make_part(struct worker *w)
{
	size_t bytes = 16 + draw(w) % 2048;
	unsigned char *part = malloc(bytes);

	if (!part)
		abort();
	memset(part, (int)bytes, bytes);
	for (size_t i = 0; i < bytes; i += 16)
		w->sum = w->sum * 31 + part[i];
	return part;
}

static void handle(struct worker *w)
{
	void **place = &w->places[draw(w) % PLACES];
	void *parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = make_part(w);
	free(*place);
	*place = parts[0];
	for (int i = 1; i < PARTS; i++)
		free(parts[i]);
	w->requests++;
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (;;) {
		pthread_barrier_wait(&begin);
		if (w->end_ns == 0)
			return NULL;
		while (w->requests % LOOK || read_clock_ns() < w->end_ns)
			handle(w);
		pthread_barrier_wait(&done);
	}
}

static uint64_t run(unsigned ms)
{
	uint64_t end_ns = read_clock_ns() + ms * UINT64_C(1000000), before = 0, after = 0;

	for (int i = 0; i < THREADS; i++) {
		before += workers[i].requests;
		workers[i].end_ns = end_ns;
	}
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&done);
	for (int i = 0; i < THREADS; i++)
		after += workers[i].requests;
	return after - before;
}

static void start_pool(void)
{
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		workers[i].random = (uint64_t)i + 1;
		workers[i].places = calloc(PLACES, sizeof(void *));
		if (!workers[i].places ||
		    pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			abort();
	}
}

static void end_pool(void)
{
	for (int i = 0; i < THREADS; i++)
		workers[i].end_ns = 0;
	pthread_barrier_wait(&begin);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

int main(void)
{
	char line[64];

	/* Tops of arenas that come and go are megabytes, and would hide what is looked for. */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	start_pool();
	while (fgets(line, sizeof(line), stdin)) {
		printf("%llu\n", (unsigned long long)run((unsigned)strtoul(line, NULL, 10)));
		(void)fflush(stdout);
	}
	end_pool();
	return 0;
}
