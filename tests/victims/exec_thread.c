/* exec_thread.c -- a thread, not the main one, replaces the process by another program. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 4 threads make 2,000 blocks of 25 bytes each and free half of them. When all are done and
 * at rest, one of them runs the program in argument 2 and following. The main thread waits in
 * pthread_join. Argument 1 `bare`: the threads allocate nothing. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 4 };

static pthread_barrier_t done;
static char **program;
static int is_full;

static void *body(void *argument)
{
	static void *blocks[THREADS + 1][2000];
	size_t index = (size_t)argument;

	truth_use(index);
	for (int i = 0; is_full && i < 2000; i++)
		blocks[index][i] = truth_malloc(25);
	for (int i = 0; is_full && i < 1000; i++)
		truth_free(blocks[index][i], 25);
	pthread_barrier_wait(&done);
	if (index == 2)
		execv(program[0], program);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	truth_expect(argc > 2 && pthread_barrier_init(&done, NULL, THREADS) == 0);
	is_full = strcmp(argv[1], "full") == 0;
	program = argv + 2;
	truth_use(THREADS);
	truth_use(0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_create(&threads[i], NULL, body, (void *)(i + 1)) == 0);
	truth_expect(pthread_join(threads[0], NULL) == 0);
	return 1;
}
