/* ahead.c -- opens what the names of a recording need while the program still runs.
 * Runs: in a collector process; the thread beside the one that handles events.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/ahead.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/radix.h"
#include "base/rescue.h"
#include "base/vec.h"
#include "collect/seen.h"

#define MODULES_MOST 64u	       /* that stay open */
#define STACK_BYTES  ((size_t)8 << 20) /* demanglers recurse */
#define FIRST_MS     50		       /* a program that ends sooner has no thread to wait for */
#define ROUNDS	     13		       /* the last one after seven minutes */
#define WAIT_MS	     25		       /* what libc takes; where it gets no processor, a loss */

struct wanted {
	uint64_t module;
	uint64_t address;
};

struct ahead {
	struct collector *collector;
	const char *executable;
	struct symbol_pool *pool;
	uint32_t seen; /* places that were looked up */
	VEC(struct wanted) wanted;
	pthread_t thread;
	bool is_started;
	atomic_bool is_halted; /* pairs with nothing: the thread ends a little sooner or later */
	int halt;	       /* an eventfd that ends pauses; no lock, which a thread that gets no
				* processor might keep */
	int over;	       /* one that tells of its end */
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void list_wanted(struct ahead *a)
{
	uint32_t count = seen_get_count(a->collector);
	struct seen_place place;

	a->wanted.count = 0;
	while (a->seen < count)
		if (seen_find(a->collector, ++a->seen, &place))
			*vec_push(&a->wanted) = (struct wanted){place.module, place.address};
	radix_sort(a->wanted.at, a->wanted.count, sizeof(*a->wanted.at),
		   offsetof(struct wanted, module));
}

/* Only files that can be told from others that take their place: the pool keeps no others. */
static struct symbol_module *open_module(const struct ahead *a, const struct seen_module *m)
{
	const struct symbol_options modest = {.pool = a->pool, .modest = true};
	const char *path = m->path[0] ? m->path : a->executable;
	struct error ignored = {0};

	if (!m->build_id_bytes || path[0] != '/')
		return NULL;
	return symbol_open(path, m->build_id, m->build_id_bytes, &modest, &ignored);
}

/* The wanted places from `at` on that are in one module; returns where the next begins. */
static size_t look_up(struct ahead *a, size_t at)
{
	uint64_t number = a->wanted.at[at].module;
	const struct symbol_frame *ignored;
	struct seen_module module;
	bool is_known = seen_find_module(a->collector, (uint32_t)number, &module);
	struct symbol_module *symbols = is_known ? open_module(a, &module) : NULL;

	for (; at < a->wanted.count && a->wanted.at[at].module == number; at++)
		if (symbols && !atomic_load(&a->is_halted))
			(void)symbol_find(symbols, a->wanted.at[at].address - module.bias,
					  &ignored);
	symbol_close(symbols);
	return at;
}

/* False: it is to end. */
static bool pause_for(const struct ahead *a, int ms)
{
	struct pollfd halted = {.fd = a->halt, .events = POLLIN};

	return poll(&halted, 1, ms) == 0;
}

/* Pauses as long as the program has been running, so that there are few rounds, and the last one
 * before its end has seen half of it at least. Who has waited for a quarter of an hour does not
 * mind a moment more, and services should not pay for that in memory. */
static void work(void *context)
{
	struct ahead *a = context;

	for (int round = 0; round < ROUNDS; round++) {
		if (!pause_for(a, FIRST_MS << round))
			return;
		list_wanted(a);
		for (size_t at = 0; at < a->wanted.count && !atomic_load(&a->is_halted);)
			at = look_up(a, at);
	}
	if (pause_for(a, FIRST_MS << ROUNDS))
		symbol_pool_empty(a->pool);
}

static void *run(void *argument)
{
	static const struct sched_param none = {0};
	struct ahead *a = argument;

	(void)prctl(PR_SET_NAME, "midden-ahead");
	/* Whoever cuts a file short costs the rest of this, not the recording. */
	if (sched_setscheduler(0, SCHED_IDLE, &none) == 0)
		(void)rescue_run(work, a);
	(void)eventfd_write(a->over, 1);
	return NULL;
}

/* ---- its owner ------------------------------------------------------------------------------- */

/* Signals stay with the thread that handles events. */
static bool start(struct ahead *a)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	if (a->halt < 0 || a->over < 0 || pthread_attr_init(&attributes))
		return false;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool is_started = pthread_create(&a->thread, &attributes, run, a) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return is_started;
}

struct ahead *ahead_new(struct collector *c, const char *executable, bool is_early)
{
	struct ahead *a = mem_new(1, sizeof(*a));

	a->collector = c;
	a->executable = executable;
	a->pool = symbol_pool_new(MODULES_MOST);
	symbol_pool_keep_modest(a->pool);
	a->halt = is_early ? eventfd(0, EFD_CLOEXEC) : -1;
	a->over = is_early ? eventfd(0, EFD_CLOEXEC) : -1;
	a->is_started = is_early && start(a);
	return a;
}

struct symbol_pool *ahead_get_pool(const struct ahead *a)
{
	return a->pool;
}

void ahead_halt(struct ahead *a)
{
	atomic_store(&a->is_halted, true);
	if (a->is_started)
		(void)eventfd_write(a->halt, 1);
}

static bool has_ended(const struct ahead *a, int ms)
{
	struct pollfd over = {.fd = a->over, .events = POLLIN};

	return poll(&over, 1, ms) == 1;
}

bool ahead_wait(struct ahead *a)
{
	if (!a->is_started)
		return true;
	if (!has_ended(a, WAIT_MS))
		return false;
	(void)pthread_join(a->thread, NULL);
	a->is_started = false;
	return true;
}

bool ahead_free(struct ahead *a)
{
	if (a->is_started && !has_ended(a, 0))
		return false;
	if (a->is_started)
		(void)pthread_join(a->thread, NULL);
	if (a->halt >= 0)
		close(a->halt);
	if (a->over >= 0)
		close(a->over);
	symbol_pool_free(a->pool);
	vec_free(&a->wanted);
	free(a);
	return true;
}
