/* fork_busy.c -- forks while other threads are inside malloc. Run by tests/e2e/follow.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Four threads allocate and free without pause while the main thread forks 50 times. By mode the
 * child: `exit` leaves through exit(), `_exit` through _exit(), `threads` starts 2 threads that
 * make 1,000 blocks of 32 bytes each and waits for them, `heap` makes 1,000 blocks of 77 bytes,
 * frees 400 and exits, `exec` becomes /bin/true. Every child must end with status 0; a child that
 * hangs is shot by its alarm and makes the victim fail. `quiet` is `heap` with one thread and one
 * child: there the child's heap is exact (1,000 allocations, 400 frees of blocks of its own, and
 * the parent's 5 blocks of 1,000 bytes are foreign to it). */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 4, CHILDREN = 50 };

static atomic_int stop;

static void *churn(void *argument)
{
	(void)argument;
	while (!atomic_load(&stop)) {
		void *volatile a = malloc(100);
		void *volatile b = malloc(2000);
		free(a);
		free(b);
	}
	return NULL;
}

static void *small_blocks(void *argument)
{
	(void)argument;
	for (int i = 0; i < 1000; i++)
		truth_expect(malloc(32) != NULL);
	return NULL;
}

static void child_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		truth_expect(pthread_create(&threads[i], NULL, small_blocks, NULL) == 0);
	for (int i = 0; i < 2; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
}

static void child_heap(void)
{
	static void *blocks[1000];

	for (int i = 0; i < 1000; i++)
		blocks[i] = malloc(77);
	for (int i = 0; i < 400; i++)
		free(blocks[i]);
}

static void child_main(const char *mode)
{
	alarm(120);
	if (strcmp(mode, "_exit") == 0)
		_exit(0);
	if (strcmp(mode, "threads") == 0)
		child_threads();
	if (strcmp(mode, "heap") == 0 || strcmp(mode, "quiet") == 0)
		child_heap();
	if (strcmp(mode, "exec") == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(3);
	}
	exit(0);
}

static int fork_once(const char *mode)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		child_main(mode);
	truth_expect(child > 0);
	truth_expect(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int fork_quietly(void)
{
	for (int i = 0; i < 5; i++)
		truth_malloc(1000);
	return fork_once("quiet") ? 0 : 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	const char *mode = argc > 1 ? argv[1] : "exit";
	int good = 0, children = argc > 2 ? atoi(argv[2]) : CHILDREN;

	if (strcmp(mode, "quiet") == 0)
		return fork_quietly();
	for (int i = 0; i < THREADS; i++)
		truth_expect(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < children; i++)
		good += fork_once(mode);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	return good == children ? 0 : 1;
}
