/* short_threads.c -- ten thousand threads, fifty at a time. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full`: 200 batches of 50 threads. Each thread allocates 3 blocks of 100, 200 and
 * 300 bytes, frees the last (temporary) and the first, and leaves the second to the main thread,
 * which frees it after the batch, but for one per batch: 200 x 200 bytes are left. The peak is at
 * the end of the last batch: 50 x 600 bytes + 199 x 200, reached when all threads of the batch wait
 * for each other with all three blocks. `bare` makes the threads alone. Stacks are 256 KiB: libc
 * caches all of them, so that what it allocates for threads does not depend on timing. */
#include "truth.h"

#include <pthread.h>

enum { BATCHES = 200, WIDTH = 50 };

struct job {
	size_t serial;
	void *left;
};

static int full;
static pthread_barrier_t meeting;
static struct job jobs[WIDTH];

static void *work(void *argument)
{
	struct job *job = argument;
	void *first = NULL, *last = NULL;

	truth_use(job->serial);
	if (full) {
		first = truth_malloc(100);
		job->left = truth_malloc(200);
		last = truth_malloc(300);
	}
	if (pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD)
		truth_mark_peak();
	pthread_barrier_wait(&meeting);
	truth_free(last, 300);
	truth_free(first, 100);
	return NULL;
}

static void run_batch(size_t batch, const pthread_attr_t *attributes)
{
	pthread_t threads[WIDTH];

	for (size_t i = 0; i < WIDTH; i++) {
		jobs[i].serial = 1 + batch * WIDTH + i;
		truth_use(jobs[i].serial);
		truth_expect(pthread_create(&threads[i], attributes, work, &jobs[i]) == 0);
	}
	truth_use(0);
	for (size_t i = 0; i < WIDTH; i++) {
		truth_expect(pthread_join(threads[i], NULL) == 0);
		if (full && i > 0)
			truth_free_foreign(jobs[i].left, 200);
	}
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	size_t batches = argc > 2 ? (size_t)atol(argv[2]) : BATCHES;

	full = truth_mode_is(argc, argv, "full");
	truth_use(0);
	truth_expect(pthread_attr_init(&attributes) == 0);
	truth_expect(pthread_attr_setstacksize(&attributes, 262144) == 0);
	truth_expect(pthread_barrier_init(&meeting, NULL, WIDTH) == 0);
	for (size_t batch = 0; batch < batches; batch++)
		run_batch(batch, &attributes);
	return 0;
}
