/* micro.c -- the allocation loads of `make bench`: micro LOAD PAIRS. Run by bench/run.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   depthN     N frames deep, 64 leaf paths in turn, one block of 16..271 bytes made and freed
 *   threadsN   N threads in a ring, each frees what the one before it made
 *   liveN      N live blocks; one is freed and one made, at random places
 *
 * Prints `ns-per-pair`, the wall time of the loop per malloc/free pair, and `own-cpu-ns`, the CPU
 * time (user and system, all threads) that this process has used. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function that is a frame of its own, and one function only. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

/* ---- depth ----------------------------------------------------------------------------------- */

/* Two levels of eight calls each: 64 paths that differ in their last two frames. The work after
 * each call keeps it from becoming a jump. */
#define DEFINE_LEAF(n)                                 \
	static NOINLINE void leaf##n(uint64_t i)       \
	{                                              \
		char *p = malloc(16 + (i * 37 & 255)); \
		p[0] = (char)i;                        \
		sink += (uint64_t)p[0];                \
		free(p);                               \
	}                                              \
	_Static_assert(1, "takes the semicolon")

DEFINE_LEAF(0);
DEFINE_LEAF(1);
DEFINE_LEAF(2);
DEFINE_LEAF(3);
DEFINE_LEAF(4);
DEFINE_LEAF(5);
DEFINE_LEAF(6);
DEFINE_LEAF(7);

static void (*const leaves[])(uint64_t) = {leaf0, leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7};

#define DEFINE_BRANCH(n)                           \
	static NOINLINE void branch##n(uint64_t i) \
	{                                          \
		leaves[i >> 3 & 7](i);             \
		sink++;                            \
	}                                          \
	_Static_assert(1, "takes the semicolon")

DEFINE_BRANCH(0);
DEFINE_BRANCH(1);
DEFINE_BRANCH(2);
DEFINE_BRANCH(3);
DEFINE_BRANCH(4);
DEFINE_BRANCH(5);
DEFINE_BRANCH(6);
DEFINE_BRANCH(7);

static void (*const branches[])(uint64_t) = {branch0, branch1, branch2, branch3,
					     branch4, branch5, branch6, branch7};

static NOINLINE void descend(int depth, uint64_t pairs)
{
	if (depth > 0) {
		descend(depth - 1, pairs);
		sink++;
		return;
	}
	for (uint64_t i = 0; i < pairs; i++)
		branches[i & 7](i);
	sink++;
}

static NOINLINE uint64_t run_depth(int depth, uint64_t pairs)
{
	uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);

	/* Leaf, branch, the last descend, this, main and three frames of libc are there anyway. */
	descend(depth - 8, pairs);
	return read_clock_ns(CLOCK_MONOTONIC) - start_ns;
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS_MOST 64
#define PLACES	     1024

/* places[t]: blocks that the thread before t made, for t to free. */
static void *places[THREADS_MOST][PLACES];

struct worker {
	pthread_t thread;
	int number, next;
	uint64_t pairs;
};

static NOINLINE void *work(void *argument)
{
	const struct worker *w = argument;

	for (uint64_t i = 0; i < w->pairs; i++) {
		void *made = malloc(16 + (i * 37 & 255));

		/* The next thread may not have come by: what it left is freed in its stead. */
		free(__atomic_exchange_n(&places[w->next][i % PLACES], made, __ATOMIC_ACQ_REL));
		free(__atomic_exchange_n(&places[w->number][i % PLACES], NULL, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static uint64_t run_threads(int count, uint64_t pairs)
{
	struct worker workers[THREADS_MOST];
	uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);

	count = count < 1 ? 1 : count > THREADS_MOST ? THREADS_MOST : count;
	for (int i = 0; i < count; i++) {
		workers[i].number = i;
		workers[i].next = (i + 1) % count;
		workers[i].pairs = pairs / (uint64_t)count;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	return read_clock_ns(CLOCK_MONOTONIC) - start_ns;
}

/* ---- live ------------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static NOINLINE void fill(void **blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = malloc(16 + (i * 37 & 63));
}

static NOINLINE void replace(void **blocks, size_t count, uint64_t pairs)
{
	uint64_t state = 88172645463325252u;

	for (uint64_t i = 0; i < pairs; i++) {
		size_t at = next_random(&state) % count;

		free(blocks[at]);
		blocks[at] = malloc(16 + (i * 37 & 63));
	}
}

/* The time to fill is not counted. The blocks are left to the end of the process. */
static uint64_t run_live(int count, uint64_t pairs)
{
	void **blocks = malloc((size_t)count * sizeof(void *));

	fill(blocks, (size_t)count);
	uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);
	replace(blocks, (size_t)count, pairs);
	return read_clock_ns(CLOCK_MONOTONIC) - start_ns;
}

/* ---- main ------------------------------------------------------------------------------------ */

static const struct load {
	const char *name;
	uint64_t (*run)(int size, uint64_t pairs);
} loads[] = {{"depth", run_depth}, {"threads", run_threads}, {"live", run_live}};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "depth10";
	uint64_t pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;

	for (size_t i = 0; pairs > 0 && i < sizeof(loads) / sizeof(loads[0]); i++) {
		size_t length = strlen(loads[i].name);
		int size = strncmp(name, loads[i].name, length) ? 0 : atoi(name + length);

		if (size <= 0)
			continue;
		uint64_t ns = loads[i].run(size, pairs);
		printf("ns-per-pair %.2f\n", (double)ns / (double)pairs);
		printf("own-cpu-ns %llu\n",
		       (unsigned long long)read_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		return 0;
	}
	(void)fprintf(stderr, "usage: micro depthN|threadsN|liveN PAIRS\n");
	return 2;
}
