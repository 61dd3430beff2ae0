/* spawn_storm.c -- starts programs in a loop beside eight allocating threads. Run by
 * tests/e2e/follow.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Modes: `spawn` 100 x posix_spawn of the program given, `vfork` 100 x vfork and exec of it,
 * `system` 20 x system(). Eight threads each make and free 200,000 blocks of 64 bytes meanwhile,
 * counted in slots. The main thread makes and frees one block of 10 bytes per start. */
#include "truth.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

enum { THREADS = 8, ROUNDS = 200000 };

extern char **environ;

static void *churn(void *argument)
{
	truth_use((size_t)argument);
	for (int i = 0; i < ROUNDS; i++)
		truth_free(truth_malloc(64), 64);
	return NULL;
}

static int start(const char *mode, char *program)
{
	char *arguments[] = {program, NULL};
	pid_t child = -1;
	int status = 1;

	if (strcmp(mode, "system") == 0)
		return system(program);
	if (strcmp(mode, "spawn") == 0) {
		truth_expect(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
	} else {
		child = vfork();
		if (child == 0) {
			execv(program, arguments);
			_exit(127);
		}
	}
	truth_expect(waitpid(child, &status, 0) == child);
	return status;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes; /* small stacks: libc caches them all, whatever the timing */

	truth_expect(argc == 3 && pthread_attr_init(&attributes) == 0);
	truth_expect(pthread_attr_setstacksize(&attributes, 262144) == 0);
	int starts = strcmp(argv[1], "system") == 0 ? 20 : 100;
	truth_use(THREADS);
	truth_use(0);
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_create(&threads[i], &attributes, churn, (void *)(i + 1)) == 0);
	for (int i = 0; i < starts; i++) {
		void *block = truth_malloc(10);
		truth_expect(start(argv[1], argv[2]) == 0);
		truth_free(block, 10);
	}
	for (size_t i = 0; i < THREADS; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	return 0;
}
