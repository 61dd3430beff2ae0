/* realloc_race.c -- blocks move while other threads get the addresses that they leave. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 8 threads, each 20,000 times: a block of 24 bytes grows to 1,000 and to 3,000 bytes by
 * realloc, is shrunk to 24 and freed; beside it one block of 24 and one of 1,000 bytes come and go.
 * All threads share one arena (mallopt), and the test switches libc's caches per thread off, so an
 * address that one thread leaves is another's next. Each thread keeps its last 3 blocks of 500
 * bytes. Slots count; nothing else is known of the order. */
#include "truth.h"

#include <malloc.h>
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 20000 };

static void one_round(void)
{
	char *moving = truth_malloc(24);
	char *small = truth_malloc(24);

	moving = truth_realloc(moving, 24, 1000);
	char *large = truth_malloc(1000);
	moving = truth_realloc(moving, 1000, 3000);
	truth_free(small, 24);
	moving = truth_realloc(moving, 3000, 24);
	truth_free(large, 1000);
	truth_free(moving, 24);
}

static void *body(void *argument)
{
	truth_use((size_t)argument);
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	for (int i = 0; i < 3; i++)
		truth_expect(truth_malloc(500) != NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes; /* small stacks: libc caches them all, whatever the timing */

	truth_expect(mallopt(M_ARENA_MAX, 1) == 1 && pthread_attr_init(&attributes) == 0);
	truth_expect(pthread_attr_setstacksize(&attributes, 262144) == 0);
	truth_use(THREADS);
	truth_use(0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_create(&threads[i], &attributes, body, (void *)(i + 1)) == 0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	(void)argc;
	(void)argv;
	return 0;
}
