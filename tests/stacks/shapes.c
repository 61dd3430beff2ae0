/* shapes.c -- random walks through functions of many shapes and builds.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: shapes ROUNDS THREADS [LIBRARY...]
 *
 * Each round is one walk; a few seeds come again and again between others, so that stacks are
 * met anew with other ones in between. The functions are those of shapes_set.c: as linked here,
 * or as they are in the libraries named, all mixed. */
#include "shapes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SHAPES_MOST 4096
#define SEEDS	    9
#define DEPTH	    36
#define VISITS	    120

static shape_fn *all[SHAPES_MOST];
static unsigned all_count;
static unsigned rounds;

__attribute__((noinline)) void trip_noise(size_t bytes)
{
	void *volatile block = malloc(bytes);

	free(block);
}

static void add_set(struct shapes_set set)
{
	for (unsigned i = 0; i < set.count && all_count < SHAPES_MOST; i++)
		all[all_count++] = set.shapes[i];
}

static void add_library(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	shapes_get_fn *get =
		handle ? (shapes_get_fn *)(uintptr_t)dlsym(handle, "shapes_get") : NULL;

	if (!get) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	add_set(get());
}

static void *walk(void *argument)
{
	uint64_t thread = (uint64_t)(uintptr_t)argument;

	for (uint64_t round = 0; round < rounds; round++) {
		/* Two rounds in three repeat one of a few; the third is new. */
		uint64_t seed = round % 3 == 2 ? 1000 + round : round * 7 % SEEDS;
		struct trip t = {.random = seed * 77 + thread * 99991 + 5,
				 .left = DEPTH,
				 .visits = VISITS,
				 .all = all,
				 .count = all_count};

		trip_onward(&t);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	unsigned thread_count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	if (argc < 3 || thread_count > 16)
		return 2;
	rounds = (unsigned)atoi(argv[1]);
	if (argc == 3)
		add_set(shapes_get());
	for (int i = 3; i < argc; i++)
		add_library(argv[i]);
	for (uint64_t i = 1; i < thread_count; i++)
		pthread_create(&threads[i], NULL, walk, (void *)(uintptr_t)i);
	walk(NULL);
	for (unsigned i = 1; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
