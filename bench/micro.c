/* micro.c -- the allocation loads of `make bench`: micro LOAD COUNT. Prints ns per malloc/free
 * pair.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   depthN     N frames deep, 64 leaf paths in turn, one block of 16..272 bytes made and freed
 *   threads    4 threads, each frees what another one made
 *   live       5 million live blocks; one is freed and one made, at random places */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- depth ----------------------------------------------------------------------------------- */

static volatile uint64_t sink;

/* Two levels of eight calls each: 64 paths that differ in their last two frames. */
#define LEAF(n)                                        \
	static NOINLINE void leaf##n(uint64_t i)       \
	{                                              \
		char *p = malloc(16 + (i * 37 & 255)); \
		p[0] = (char)i;                        \
		sink += (uint64_t)p[0];                \
		free(p);                               \
	}
LEAF(0)
LEAF(1) LEAF(2) LEAF(3) LEAF(4) LEAF(5) LEAF(6) LEAF(7)

#define BRANCH(n)                                                                       \
	static NOINLINE void branch##n(uint64_t i)                                      \
	{                                                                               \
		static void (*const leaves[])(uint64_t) = {leaf0, leaf1, leaf2, leaf3,  \
							   leaf4, leaf5, leaf6, leaf7}; \
		leaves[i >> 3 & 7](i);                                                  \
		sink++;                                                                 \
	}
	BRANCH(0) BRANCH(1) BRANCH(2) BRANCH(3) BRANCH(4) BRANCH(5) BRANCH(6) BRANCH(7)

		static NOINLINE void descend(int depth, uint64_t count)
{
	static void (*const branches[])(uint64_t) = {branch0, branch1, branch2, branch3,
						     branch4, branch5, branch6, branch7};

	if (depth > 0) {
		descend(depth - 1, count);
		sink++;
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		branches[i & 7](i);
	sink++;
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 4
#define QUEUE	1024

static void *volatile queues[THREADS][QUEUE];

struct worker {
	int number;
	uint64_t count;
};

/* Puts blocks where the next thread takes them; frees what it finds in its own place. */
static NOINLINE void *work(void *argument)
{
	const struct worker *w = argument;

	for (uint64_t i = 0; i < w->count; i++) {
		void *made = malloc(16 + (i * 37 & 255));
		void *volatile *place = &queues[(w->number + 1) % THREADS][i % QUEUE];
		void *old = __atomic_exchange_n(place, made, __ATOMIC_ACQ_REL);

		free(old);
		free(__atomic_exchange_n(&queues[w->number][i % QUEUE], NULL, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static void run_threads(uint64_t count)
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.number = i, .count = count / THREADS};
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- live ------------------------------------------------------------------------------------ */

#define LIVE 5000000

static void **table;

static NOINLINE void fill(void)
{
	table = malloc(LIVE * sizeof(void *));
	for (size_t i = 0; i < LIVE; i++)
		table[i] = malloc(16 + (i * 37 & 63));
}

static NOINLINE void replace(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t at = next_random(&random_state) % LIVE;

		free(table[at]);
		table[at] = malloc(16 + (i * 37 & 63));
	}
}

int main(int argc, char **argv)
{
	const char *load = argc > 1 ? argv[1] : "depth10";
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t start;

	if (strncmp(load, "depth", 5) == 0) {
		/* main, the leaf and its branch, and two frames of libc are there anyway. */
		int depth = atoi(load + 5) - 6;

		start = now_ns();
		descend(depth, count);
	} else if (strcmp(load, "threads") == 0) {
		start = now_ns();
		run_threads(count);
	} else if (strcmp(load, "live") == 0) {
		fill();
		start = now_ns();
		replace(count);
	} else {
		return 2;
	}
	printf("%.2f\n", (double)(now_ns() - start) / (double)count);
	return 0;
}
