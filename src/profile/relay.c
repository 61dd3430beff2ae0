/* relay.c -- a thread that compresses and writes a section while the next one is made. Runs:
 * offline; called by the writer of profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/relay.h"

#include <signal.h>

#include "base/vec.h"

static void *run(void *argument)
{
	struct relay *r = argument;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (!r->tag && !r->is_over)
			pthread_cond_wait(&r->changed, &r->lock);
		if (!r->tag)
			break;
		uint32_t tag = r->tag;
		pthread_mutex_unlock(&r->lock);
		sink_write_section(r->sink, tag);
		pthread_mutex_lock(&r->lock);
		r->tag = 0;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Signals are for the thread that was there before. */
static bool start_thread(struct relay *r)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&r->thread, NULL, run, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void relay_start(struct relay *r, struct sink *sink, bool wanted)
{
	*r = (struct relay){.sink = sink};
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->has_thread = wanted && start_thread(r);
}

/* The sink is ours from here on. */
static void wait_for_sink(struct relay *r)
{
	while (r->tag)
		pthread_cond_wait(&r->changed, &r->lock);
}

static void hand_over(struct relay *r)
{
	struct codec_buffer raw = r->sink->raw;

	r->sink->raw = r->raw;
	r->raw = raw;
	r->raw.count = 0;
}

bool relay_write_section(struct relay *r, uint32_t tag)
{
	pthread_mutex_lock(&r->lock);
	wait_for_sink(r);
	bool good = !r->sink->error;
	hand_over(r);
	if (r->has_thread) {
		r->tag = tag;
		pthread_cond_signal(&r->changed);
	} else {
		sink_write_section(r->sink, tag);
	}
	pthread_mutex_unlock(&r->lock);
	return good;
}

void relay_finish(struct relay *r)
{
	pthread_mutex_lock(&r->lock);
	wait_for_sink(r);
	r->is_over = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->has_thread)
		pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	vec_free(&r->raw);
}
