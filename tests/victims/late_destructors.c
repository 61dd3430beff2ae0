/* late_destructors.c -- threads that allocate while they end, in every way that there is. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap, by mode: `keys` 40 threads, one after the other, each with 3 pthread keys whose destructors
 * free 100 bytes, make 60 and ask to be called again as often as libc allows (4 rounds); the last
 * round leaves its 60 bytes. `cancel` 40 threads make 70 bytes, are cancelled, and free them and
 * make 20 in a cleanup handler. `main` 1 thread goes on after the main thread has ended by
 * pthread_exit: it makes 1,000 blocks of 30 bytes, frees 400 and ends the process with status 7.
 * Each mode has a `bare` form (argument 2) in which the threads come and go alike but allocate
 * nothing. Each thread has a slot. */
#include "truth.h"

#include <limits.h>
#include <pthread.h>

enum { THREADS = 40, KEYS = 3, ROUNDS = 4 };

static int is_full;
static pthread_key_t keys[KEYS];
static __thread int rounds[KEYS];

/* ---- keys ------------------------------------------------------------------------------------ */

static void *make(size_t size)
{
	return is_full ? truth_malloc(size) : (void *)&is_full;
}

static void drop(void *block, size_t size)
{
	if (is_full)
		truth_free(block, size);
}

static void end_key(int which, void *block)
{
	drop(block, rounds[which] == 0 ? 100 : 60);
	block = make(60);
	if (++rounds[which] < ROUNDS)
		truth_expect(pthread_setspecific(keys[which], block) == 0);
}

static void end_key_0(void *block)
{
	end_key(0, block);
}

static void end_key_1(void *block)
{
	end_key(1, block);
}

static void end_key_2(void *block)
{
	end_key(2, block);
}

static void *with_keys(void *argument)
{
	truth_use((size_t)argument);
	for (int i = 0; i < KEYS; i++)
		truth_expect(pthread_setspecific(keys[i], make(100)) == 0);
	return NULL;
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static void clean_up(void *block)
{
	drop(block, 70);
	make(20);
}

static void *until_cancelled(void *argument)
{
	truth_use((size_t)argument);
	void *block = make(70);
	pthread_cleanup_push(clean_up, block);
	truth_note(0, (size_t)argument);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

/* ---- main ------------------------------------------------------------------------------------ */

static void *after_main(void *argument)
{
	static void *blocks[1000];
	pthread_t *main_thread = argument;

	truth_use(1);
	truth_expect(pthread_join(*main_thread, NULL) == 0);
	for (int i = 0; i < 1000; i++)
		blocks[i] = make(30);
	for (int i = 0; i < 400; i++)
		drop(blocks[i], 30);
	exit(7);
}

static void leave_main(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	truth_expect(pthread_create(&thread, NULL, after_main, &self) == 0);
	pthread_exit(NULL);
}

static void run_threads(void *(*body)(void *), int cancels)
{
	pthread_t thread;

	for (size_t i = 1; i <= THREADS; i++) {
		truth_expect(pthread_create(&thread, NULL, body, (void *)i) == 0);
		while (cancels && truth_page->note[0] != i)
			usleep(100);
		if (cancels)
			truth_expect(pthread_cancel(thread) == 0);
		truth_expect(pthread_join(thread, NULL) == 0);
	}
}

int main(int argc, char **argv)
{
	static void (*const ends[KEYS])(void *) = {end_key_0, end_key_1, end_key_2};

	truth_expect(argc == 3 && ROUNDS == PTHREAD_DESTRUCTOR_ITERATIONS);
	is_full = strcmp(argv[2], "full") == 0;
	truth_use(0);
	for (int i = 0; i < KEYS; i++)
		truth_expect(pthread_key_create(&keys[i], ends[i]) == 0);
	if (strcmp(argv[1], "keys") == 0)
		run_threads(with_keys, 0);
	if (strcmp(argv[1], "cancel") == 0)
		run_threads(until_cancelled, 1);
	if (strcmp(argv[1], "main") == 0)
		leave_main();
	return 0;
}
