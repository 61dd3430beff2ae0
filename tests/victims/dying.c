/* dying.c -- ends in every way a program can end. Run by tests/e2e/death.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: step n allocates 1 + (n * 7,919) % 4,096 bytes and, from the 100th step on, frees the block
 * of step n - 100. So the bytes after n allocations and m frees follow from n and m alone; the
 * tests compute them again. After `steps` (argument 2, 10,000 by default) it ends by mode: exit,
 * _exit, quick_exit, abort, segv, kill (SIGKILL to itself), term, exec (becomes the program in
 * argument 3), limit (RLIMIT_AS lowered, then grows until malloc fails and aborts), cpu (runs on
 * until RLIMIT_CPU kills it), hog (enters the control group in argument 3 and touches memory until
 * it is killed), forever (runs on until killed from outside), threads (8 threads run on like
 * `forever`, each in its own slot, the main thread kills the process after 200,000 steps in all).
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

enum { WINDOW = 100, THREADS = 8 };

struct ring {
	void *at[WINDOW];
	uint64_t step;
};

static struct ring rings[THREADS + 1];

static size_t size_of(uint64_t step)
{
	return 1 + step * 7919 % 4096;
}

static void advance(struct ring *ring)
{
	uint64_t n = ring->step;

	if (n >= WINDOW)
		truth_free(ring->at[n % WINDOW], size_of(n - WINDOW));
	ring->at[n % WINDOW] = truth_malloc(size_of(n));
	truth_expect(ring->at[n % WINDOW] != NULL);
	ring->step = n + 1;
}

static void forever(struct ring *ring)
{
	for (;;)
		advance(ring);
}

static void *thread_body(void *argument)
{
	size_t index = (size_t)argument;

	truth_use(index);
	forever(&rings[index]);
	return NULL;
}

static void in_threads(void)
{
	pthread_t thread;
	uint64_t steps = 0;

	truth_use(THREADS);
	truth_use(0);
	for (size_t i = 1; i <= THREADS; i++)
		truth_expect(pthread_create(&thread, NULL, thread_body, (void *)i) == 0);
	while (steps < 200000) {
		usleep(1000);
		steps = 0;
		for (size_t i = 1; i <= THREADS; i++)
			steps += truth_page->slot[i].allocations;
	}
	kill(getpid(), SIGKILL);
}

static void until_limit(void)
{
	struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
	size_t size = (size_t)8 << 20;

	truth_expect(setrlimit(RLIMIT_AS, &limit) == 0);
	while (truth_malloc(size))
		continue;
	abort();
}

static void until_cpu_is_used(void)
{
	struct rlimit limit = {1, 1};

	truth_expect(setrlimit(RLIMIT_CPU, &limit) == 0);
	forever(&rings[0]);
}

/* `group` is the cgroup.procs file of a memory-limited control group to enter first. */
static void until_memory_is_used(const char *group)
{
	int fd = open(group, O_WRONLY);

	truth_expect(fd >= 0 && write(fd, "0", 1) == 1);
	close(fd);
	for (;;) {
		char *block = truth_malloc(65536);
		truth_expect(block != NULL);
		memset(block, 1, 65536);
	}
}

static void crash(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 1;
}

static void end_abruptly(const char *mode, char **rest)
{
	if (strcmp(mode, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(mode, "term") == 0)
		raise(SIGTERM);
	if (strcmp(mode, "abort") == 0)
		abort();
	if (strcmp(mode, "segv") == 0)
		crash();
	if (strcmp(mode, "exec") == 0)
		execv(rest[0], rest);
}

static void end_otherwise(const char *mode, char **rest)
{
	if (strcmp(mode, "_exit") == 0)
		_exit(17);
	if (strcmp(mode, "quick_exit") == 0)
		quick_exit(18);
	if (strcmp(mode, "limit") == 0)
		until_limit();
	if (strcmp(mode, "cpu") == 0)
		until_cpu_is_used();
	if (strcmp(mode, "hog") == 0)
		until_memory_is_used(rest[0]);
	if (strcmp(mode, "forever") == 0)
		forever(&rings[0]);
	if (strcmp(mode, "threads") == 0)
		in_threads();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "exit";
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;

	truth_use(0);
	while (rings[0].step < steps)
		advance(&rings[0]);
	truth_note(0, 1);
	end_abruptly(mode, argv + 3);
	end_otherwise(mode, argv + 3);
	return strcmp(mode, "exit") == 0 ? 16 : 2;
}
