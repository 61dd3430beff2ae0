/* crew.c -- threads that stand by, for work that must not wait for their birth.
 * Runs: in the collector process; one thread has the crew, and is part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/crew.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "collect/spare.h"

uint32_t crew_count(const struct crew *c)
{
	return c->count ? c->count : 1;
}

/* Waits for work. False: there will be none. */
static bool await(struct crew *c, uint64_t *turn)
{
	bool is_over;

	pthread_mutex_lock(&c->lock);
	while ((c->turn == *turn || !c->is_open) && !c->is_over)
		pthread_cond_wait(&c->called, &c->lock);
	*turn = c->turn;
	is_over = c->is_over;
	c->busy += !is_over;
	pthread_mutex_unlock(&c->lock);
	return !is_over;
}

static void report(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	if (--c->busy == 0)
		pthread_cond_signal(&c->done);
	pthread_mutex_unlock(&c->lock);
}

static void *stand_by(void *context)
{
	struct crew_member *self = context;
	uint64_t turn = 0;

	while (await(self->crew, &turn)) {
		self->crew->work(self->crew->context, self->number);
		report(self->crew);
	}
	return NULL;
}

uint32_t crew_count_cores(void)
{
	cpu_set_t set;
	long cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
								  : sysconf(_SC_NPROCESSORS_ONLN);

	uint64_t allowed = spare_read_cores(NULL);

	if (cores < 1)
		return 1;
	allowed = allowed < CREW_MOST ? allowed : CREW_MOST;
	return (uint64_t)cores < allowed ? (uint32_t)cores : (uint32_t)allowed;
}

/* Signals are the first thread's to take. */
void crew_call(struct crew *c)
{
	uint32_t wanted = crew_count_cores();
	sigset_t all, before;

	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->called, NULL);
	pthread_cond_init(&c->done, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (c->count = 1; c->count < wanted; c->count++) {
		struct crew_member *m = &c->members[c->count];

		*m = (struct crew_member){.crew = c, .number = c->count};
		if (pthread_create(&m->thread, NULL, stand_by, m) != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void crew_work(struct crew *c, void (*work)(void *context, uint32_t number), void *context)
{
	if (c->count < 2) {
		work(context, 0);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->work = work;
	c->context = context;
	c->is_open = true;
	c->turn++;
	pthread_cond_broadcast(&c->called);
	pthread_mutex_unlock(&c->lock);
	work(context, 0);
	pthread_mutex_lock(&c->lock);
	c->is_open = false; /* who has not got there yet need not */
	while (c->busy)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void crew_dismiss(struct crew *c)
{
	if (!c->count)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_cond_broadcast(&c->called);
	pthread_mutex_unlock(&c->lock);
	for (uint32_t i = 1; i < c->count; i++)
		(void)pthread_join(c->members[i].thread, NULL);
	pthread_cond_destroy(&c->called);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	*c = (struct crew){0};
}
