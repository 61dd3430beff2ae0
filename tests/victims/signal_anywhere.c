/* signal_anywhere.c -- a handler allocates wherever the signal comes, inside the hooks too. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Linked to bump_allocator, which bears being interrupted, so the handler need not care where it
 * is. Heap: the main thread makes 400,000 blocks of 1..256 bytes, frees each, from 8 different
 * stacks, while a timer fires every 50 us; the handler makes a block of 64 bytes, grows it to 128
 * and frees it. Argument 1 `threads`: 4 threads do so, 100,000 blocks each, so that the signals
 * come to one that is being set up, too: each is started anew every 1,000 blocks. note[0]: handler
 * calls. Slot 0 counts the loops, slot 1 what the handler did (atomically). */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static _Atomic uint64_t handled;
static _Atomic uint64_t made;

static void on_timer(int number)
{
	(void)number;
	char *block = malloc(64);
	block = realloc(block, 128);
	truth_expect(block != NULL);
	block[127] = 1;
	free(block);
	atomic_fetch_add(&handled, 1);
}

__attribute__((noinline)) static void at_depth(int depth, size_t size)
{
	if (depth > 0) {
		at_depth(depth - 1, size);
		__asm__ volatile("" ::: "memory");
		return;
	}
	char *block = malloc(size);
	truth_expect(block != NULL);
	block[size - 1] = 1;
	free(block);
	atomic_fetch_add(&made, 1);
}

static void *loop(void *argument)
{
	for (size_t i = 0; i < (size_t)argument; i++)
		at_depth((int)(i % 8), 1 + i % 256);
	return NULL;
}

static void loop_in_threads(void)
{
	pthread_t threads[4];

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 4; i++)
			truth_expect(pthread_create(&threads[i], NULL, loop, (void *)1000) == 0);
		for (int i = 0; i < 4; i++)
			truth_expect(pthread_join(threads[i], NULL) == 0);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};

	truth_use(1);
	truth_use(0);
	truth_expect(sigaction(SIGPROF, &action, NULL) == 0);
	truth_expect(sigaction(SIGALRM, &action, NULL) == 0);
	truth_expect(setitimer(ITIMER_REAL, &every, NULL) == 0);
	if (truth_mode_is(argc, argv, "threads"))
		loop_in_threads();
	else
		loop((void *)400000);
	truth_expect(setitimer(ITIMER_REAL, &never, NULL) == 0);
	truth_page->slot[0].allocations = truth_page->slot[0].frees = made;
	truth_page->slot[1].allocations = truth_page->slot[1].frees = 2 * handled;
	truth_note(0, handled);
	return 4;
}
