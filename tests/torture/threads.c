/* threads.c -- threads that are joined or left to themselves.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "torture.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum state { FREE, RUNNING, DONE, JOINING };

struct thread {
	_Atomic int state;
	atomic_bool ready; /* its id is written, so it may be done and be joined */
	bool detached;
	pthread_t id;
	unsigned steps;
	struct worker worker;
};

static struct thread threads[THREADS_MOST];
static pthread_key_t key;

/* The last that runs of a thread's own code, so it allocates where thread-local storage is being
 * taken down, and only then says that the thread is done. */
static void on_thread_end(void *value)
{
	struct thread *thread = value;

	for (int i = 0; i < 3; i++)
		blocks_act(&thread->worker.chance);
	worker_set(NULL);
	atomic_store(&thread->state, thread->detached ? FREE : DONE);
}

bool threads_open(void)
{
	return pthread_key_create(&key, on_thread_end) == 0;
}

static void *run(void *argument)
{
	struct thread *thread = argument;

	while (!atomic_load(&thread->ready))
		(void)sched_yield();
	worker_set(&thread->worker);
	(void)pthread_setspecific(key, thread);
	torture_steps(&thread->worker, thread->steps);
	return NULL;
}

static void join_done(void)
{
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		int expected = DONE;

		if (!atomic_compare_exchange_strong(&threads[i].state, &expected, JOINING))
			continue;
		(void)pthread_join(threads[i].id, NULL);
		atomic_store(&threads[i].state, FREE);
	}
}

static struct thread *take_free(void)
{
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		int expected = FREE;

		/* JOINING until it runs, so that nobody joins what is not there yet. */
		if (atomic_compare_exchange_strong(&threads[i].state, &expected, JOINING))
			return &threads[i];
	}
	return NULL;
}

void threads_start(struct worker *me)
{
	pthread_attr_t attributes;

	join_done();
	struct thread *thread = take_free();
	if (!thread)
		return;
	memset(&thread->worker, 0, sizeof(thread->worker));
	thread->worker.chance.state = chance_next(&me->chance);
	thread->worker.in_handler.state = chance_next(&me->chance);
	thread->steps = (unsigned)chance_below(&me->chance, 1 + habits.steps / 4);
	thread->detached = chance_below(&me->chance, 2);
	(void)pthread_attr_init(&attributes);
	if (thread->detached)
		(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	atomic_store(&thread->ready, false);
	atomic_store(&thread->state, RUNNING);
	if (pthread_create(&thread->id, &attributes, run, thread) != 0)
		atomic_store(&thread->state, FREE);
	atomic_store(&thread->ready, true);
	(void)pthread_attr_destroy(&attributes);
}

static bool is_any_left(void)
{
	join_done();
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		if (atomic_load(&threads[i].state) != FREE)
			return true;
	}
	return false;
}

void threads_wait_all(void)
{
	while (is_any_left())
		(void)usleep(500);
}

void threads_forget_all(void)
{
	(void)pthread_setspecific(key, NULL);
	for (unsigned i = 0; i < THREADS_MOST; i++)
		atomic_store(&threads[i].state, FREE);
}
