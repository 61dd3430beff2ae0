/* thread_ends.c -- allocations while threads are cancelled, exit and clean up, some on tiny stacks.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_key_t key;
static sem_t arrived;

static void at_cleanup(void *argument)
{
	(void)argument;
	oracle_mark();
}

static void at_key(void *argument)
{
	oracle_mark();
	if ((uintptr_t)argument > 1)
		pthread_setspecific(key, (void *)((uintptr_t)argument - 1));
}

enum ending { ENDS_RETURNING, ENDS_EXITING, ENDS_CANCELLED };

static __attribute__((noinline)) void end(enum ending ending)
{
	oracle_mark();
	if (ending == ENDS_EXITING)
		pthread_exit(NULL);
	if (ending == ENDS_CANCELLED)
		sem_post(&arrived);
	while (ending == ENDS_CANCELLED)
		pause();
}

/* Cleanup handlers at every third level. */
static __attribute__((noinline)) void descend(unsigned depth, enum ending ending)
{
	if (depth == 0) {
		end(ending);
		return;
	}
	if (depth % 3) {
		descend(depth - 1, ending);
	} else {
		pthread_cleanup_push(at_cleanup, NULL);
		descend(depth - 1, ending);
		pthread_cleanup_pop(1);
	}
	oracle_mark();
}

static void *run_cancelled(void *argument)
{
	pthread_setspecific(key, (void *)2);
	descend((unsigned)(uintptr_t)argument, ENDS_CANCELLED);
	return NULL;
}

static void *run_exiting(void *argument)
{
	pthread_setspecific(key, (void *)3);
	descend((unsigned)(uintptr_t)argument, ENDS_EXITING);
	return NULL;
}

static void *run_plainly(void *argument)
{
	pthread_setspecific(key, (void *)1);
	descend((unsigned)(uintptr_t)argument, ENDS_RETURNING);
	oracle_mark();
	return NULL;
}

static void start(void *(*run)(void *), unsigned depth, const pthread_attr_t *attributes,
		  int cancel)
{
	pthread_t thread;

	if (pthread_create(&thread, attributes, run, (void *)(uintptr_t)depth) != 0)
		exit(1);
	if (cancel) {
		sem_wait(&arrived);
		pthread_cancel(thread);
	}
	pthread_join(thread, NULL);
}

/* The smallest stack that libc grants, and what the oracle's unwinder itself needs. */
static void run_small(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN) + 8192);
	for (unsigned i = 0; i < 20; i++)
		start(run_plainly, 0, &attributes, 0);
	pthread_attr_destroy(&attributes);
}

/* A stack of the program's own, with nothing between it and other memory. */
static void run_given(void)
{
	size_t bytes = 256u << 10;
	char *memory =
		mmap(NULL, 3 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory + bytes, bytes);
	for (unsigned i = 0; i < 10; i++)
		start(run_exiting, i, &attributes, 0);
	pthread_attr_destroy(&attributes);
	munmap(memory, 3 * bytes);
}

int main(void)
{
	pthread_key_create(&key, at_key);
	sem_init(&arrived, 0, 0);
	oracle_mark();
	for (unsigned i = 0; i < 40; i++) {
		start(run_cancelled, i % 17, NULL, 1);
		start(run_exiting, i % 13, NULL, 0);
		start(run_plainly, i % 5, NULL, 0);
	}
	run_small();
	run_given();
	return 0;
}
