/* still_child.h -- a child that has prepared its memory and then does nothing. For unit tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_STILL_CHILD_H
#define MIDDEN_TESTS_STILL_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns when it is prepared. It dies with the test. */
static inline pid_t still_child_start(bool (*prepare)(const void *context), const void *context)
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!prepare(context))
			_exit(1);
		(void)!write(ends[1], "r", 1);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	return child;
}

/* It must be neither stopped nor traced. */
static inline void still_child_end(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

#endif
