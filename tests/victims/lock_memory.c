/* lock_memory.c -- locks all of its memory, as programs do that must not wait for the disk. Run by
 * tests/e2e/harsh.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints how many kilobytes are then locked and resident, or `refused`. Heap: 1,000 blocks of 1,000
 * bytes before it, and as many after it. With an argument, 40 threads begin after it and make one
 * such block each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 40

static void *volatile kept;

static void make_blocks(void)
{
	for (int i = 0; i < 1000; i++)
		kept = malloc(1000);
}

static pthread_barrier_t all_there, all_seen;

static void *make_one(void *argument)
{
	kept = malloc(1000);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_seen);
	return argument;
}

static void start_threads(pthread_t *threads)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all_there, NULL, THREADS + 1);
	pthread_barrier_init(&all_seen, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &small, make_one, NULL) != 0)
			exit(1);
	pthread_barrier_wait(&all_there);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char line[256];

	(void)argv;

	make_blocks();
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
		puts("refused");
		return 0;
	}
	make_blocks();
	if (argc > 1)
		start_threads(threads);
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmLck:", 6) == 0 || strncmp(line, "VmRSS:", 6) == 0)
			fputs(line, stdout);
	if (argc > 1)
		pthread_barrier_wait(&all_seen);
	for (int i = 0; argc > 1 && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return status == NULL;
}
