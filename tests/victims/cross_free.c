/* cross_free.c -- eight threads whose blocks are freed by other threads. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full`, 8 threads: each allocates 2,000 blocks of 16..2,015 bytes; all meet (the
 * peak: 8 x 2,031,000 bytes in 16,000 blocks); each frees the blocks of its right neighbour; all
 * meet; then 4 pairs hand 5,000 blocks of 1,000 bytes through queues of 64 (producer allocates,
 * consumer frees, while the producers also make temporary blocks and resize); each thread keeps 10
 * blocks of 123 bytes. `bare` starts and joins the same threads and allocates nothing. */
#include "truth.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 8, BLOCKS = 2000, HANDED = 5000, ROOM = 64, KEPT = 10 };

struct queue {
	_Atomic uint64_t head;
	_Atomic uint64_t tail;
	void *at[ROOM];
};

static int full;
static void *blocks[THREADS][BLOCKS];
static struct queue queues[THREADS / 2];
static pthread_barrier_t meeting;

static void meet(void)
{
	pthread_barrier_wait(&meeting);
}

static void fill(size_t me)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[me][i] = truth_malloc(16 + i);
}

static void empty_neighbour(size_t me)
{
	for (size_t i = 0; i < BLOCKS; i++)
		truth_free_foreign(blocks[(me + 1) % THREADS][i], 16 + i);
}

static void produce(struct queue *q)
{
	for (uint64_t i = 0; i < HANDED; i++) {
		void *block = truth_realloc(truth_malloc(500), 500, 1000);

		while (i - atomic_load(&q->tail) >= ROOM)
			sched_yield();
		q->at[i % ROOM] = block;
		atomic_store(&q->head, i + 1);
		truth_free(truth_malloc(48), 48);
	}
}

static void consume(struct queue *q)
{
	for (uint64_t i = 0; i < HANDED; i++) {
		while (atomic_load(&q->head) == i)
			sched_yield();
		truth_free_foreign(q->at[i % ROOM], 1000);
		atomic_store(&q->tail, i + 1);
	}
}

static void *work(void *argument)
{
	size_t me = (size_t)argument;

	truth_use(me + 1);
	if (full)
		fill(me);
	meet();
	if (me == 0)
		truth_mark_peak();
	meet();
	if (full)
		empty_neighbour(me);
	meet();
	if (full && me % 2 == 0)
		produce(&queues[me / 2]);
	else if (full)
		consume(&queues[me / 2]);
	for (size_t i = 0; full && i < KEPT; i++)
		truth_malloc(123);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes; /* small stacks: libc caches them all, whatever the timing */

	full = truth_mode_is(argc, argv, "full");
	truth_use(THREADS); /* the page's size is settled before threads race for it */
	truth_use(0);
	truth_expect(pthread_attr_init(&attributes) == 0);
	truth_expect(pthread_attr_setstacksize(&attributes, 262144) == 0);
	truth_expect(pthread_barrier_init(&meeting, NULL, THREADS) == 0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_create(&threads[i], &attributes, work, (void *)i) == 0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	return 0;
}
