/* control_storm.c -- threads that allocate while others stop, start, clear, ask, write and take
 * snapshots. Run by tests/e2e/control.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: control_storm ROUNDS DIRECTORY
 *
 * Four threads work: ROUNDS times each allocates, resizes and frees blocks, some of them another
 * thread's. Four threads direct the recording at the same time. When all are through, and nothing
 * of theirs is left: recording is started for good, figures are cleared, and 1,000 blocks of
 * 100 bytes stay: so big that with a sample per byte each stands for itself, whatever the dice say.
 * note[0] 1 if a summary ever had more frees than allocations, or other than their difference live;
 * note[1] live blocks before the last clear; note[2] calls that failed, other than those that do so
 * always in tag mode: stop, start and thresholds; note[3] files written. */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "midden/midden.h"

#define WORKERS	  4
#define DIRECTORS 4
#define SHARED	  64

static _Atomic(void *) shared[SHARED];
static atomic_int working = WORKERS;
static atomic_uint failures, oddities, files;
static unsigned rounds;
static int refused; /* what these return */
static const char *directory;

/* What is taken out was put in by whichever thread came last. */
static void *work(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument * 7919u + 1;

	for (unsigned i = 0; i < rounds; i++) {
		seed = seed * 1103515245u + 12345u;
		void *block = malloc(seed >> 8 & 511u);

		if (seed >> 20 & 1u)
			block = realloc(block, (seed >> 9 & 1023u) + 1);
		free(atomic_exchange(&shared[seed >> 16 & (SHARED - 1)], block));
	}
	atomic_fetch_sub(&working, 1);
	return NULL;
}

static void check_summary(int scope)
{
	struct midden_figures f = {0};

	if (midden_summary(&f, scope) != 0)
		atomic_fetch_add(&failures, 1);
	if (f.frees > f.allocations || f.live_blocks != f.allocations - f.frees ||
	    f.live_bytes != f.allocated_bytes - f.freed_bytes || f.peak_bytes < f.live_bytes)
		atomic_fetch_add(&oddities, 1);
}

static void write_file(unsigned number)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/storm.%u.mdn", directory, number);
	if (midden_write(path) == 0)
		atomic_fetch_add(&files, 1);
	else
		atomic_fetch_add(&failures, 1);
}

static void *direct(void *argument)
{
	unsigned who = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; atomic_load(&working) > 0; i++) {
		int failed = 0;

		switch ((i + who) % 6) {
		case 0:
			failed = refused !=
				 midden_stop(i & 8 ? MIDDEN_ALL_THREADS : MIDDEN_THIS_THREAD);
			break;
		case 1:
			failed = refused !=
				 midden_start(i & 8 ? MIDDEN_ALL_THREADS : MIDDEN_THIS_THREAD);
			break;
		case 2:
			failed = midden_clear();
			break;
		case 3:
			midden_snapshot("storm");
			break;
		case 4:
			check_summary(i & 1 ? MIDDEN_ALL_THREADS : MIDDEN_THIS_THREAD);
			break;
		default:
			failed = refused !=
				 midden_set_threshold(i & 255u,
						      i & 256u ? MIDDEN_AT_MOST : MIDDEN_AT_LEAST);
		}
		if (i % 64 == 0)
			write_file(who);
		if (failed)
			atomic_fetch_add(&failures, 1);
		free(malloc(i & 1023u));
	}
	return NULL;
}

static void run_all(void)
{
	pthread_t threads[WORKERS + DIRECTORS];

	for (uintptr_t i = 0; i < WORKERS + DIRECTORS; i++)
		truth_expect(pthread_create(&threads[i], NULL, i < WORKERS ? work : direct,
					    (void *)i) == 0);
	for (unsigned i = 0; i < WORKERS + DIRECTORS; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	for (unsigned i = 0; i < SHARED; i++)
		free(atomic_load(&shared[i]));
}

int main(int argc, char **argv)
{
	struct midden_figures last = {0};

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	directory = argc > 2 ? argv[2] : ".";
	refused = midden_start(MIDDEN_ALL_THREADS);
	run_all();
	midden_start(MIDDEN_ALL_THREADS);
	midden_set_threshold(0, MIDDEN_AT_LEAST);
	midden_summary(&last, MIDDEN_ALL_THREADS);
	midden_clear();
	for (int i = 0; i < 1000; i++)
		truth_expect(malloc(100) != NULL);
	truth_note(0, oddities);
	truth_note(1, last.live_blocks);
	truth_note(2, failures);
	truth_note(3, files);
	return 0;
}
