/* launch.c -- starts the program under test. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/env.h"

/* ---- the library ----------------------------------------------------------------------------- */

char *launch_find_library(struct error *e)
{
	static const char *const places[] = {"libmidden.so", "../lib/libmidden.so",
					     "../lib/" MIDDEN_MULTIARCH "/libmidden.so",
					     "../lib64/libmidden.so"};
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0) {
		(void)error_set_errno(e, "cannot tell where this command is");
		return NULL;
	}
	self[length] = '\0';
	char *slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = mem_format("%.*s/%s", (int)(slash - self), self, places[i]);
		char *real_path = realpath(path, NULL);

		free(path);
		if (real_path)
			return real_path;
	}
	(void)error_set(e, "libmidden.so is neither beside this command nor in its lib directory");
	return NULL;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void set_environment(const struct launch *launch)
{
	const char *others = getenv("LD_PRELOAD");
	char *list = others && *others ? mem_format("%s:%s", launch->library, others)
				       : mem_copy_string(launch->library);

	/* First in the list: other preloaded allocators are then the next definition behind us. */
	(void)setenv("LD_PRELOAD", list, 1);
	(void)setenv(ENV_SOCKET, launch->socket, 1);
	free(list);
}

static void __attribute__((noreturn)) become_program(const struct launch *launch, int failure)
{
	set_environment(launch);
	(void)sigprocmask(SIG_SETMASK, launch->signals, NULL);
	(void)execvp(launch->arguments[0], launch->arguments);
	int number = errno;
	(void)!write(failure, &number, sizeof(number));
	_exit(127);
}

/* The pipe closes by itself when the program starts, and brings an errno when it does not. */
pid_t launch_start(const struct launch *launch, int *status, struct error *e)
{
	int failure[2], number = 0;

	if (pipe2(failure, O_CLOEXEC))
		return error_set_errno(e, "cannot start %s", launch->arguments[0]);
	pid_t child = fork();
	if (child == 0)
		become_program(launch, failure[1]);
	close(failure[1]);
	ssize_t got = child < 0 ? -1 : read(failure[0], &number, sizeof(number));
	close(failure[0]);
	if (got == 0)
		return child;
	errno = child < 0 ? errno : number;
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	*status = errno == ENOENT ? 127 : 126;
	return error_set_errno(e, "cannot run %s", launch->arguments[0]);
}

void launch_hand_on(int wait_status)
{
	struct rlimit no_core = {0};
	sigset_t one;

	if (WIFSIGNALED(wait_status)) {
		/* The program has left its core already; ours would only take its place. */
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(WTERMSIG(wait_status), SIG_DFL);
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(wait_status));
		(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
		(void)raise(WTERMSIG(wait_status));
		exit(128 + WTERMSIG(wait_status)); /* NOLINT: one thread */
	}
	exit(WEXITSTATUS(wait_status)); /* NOLINT: one thread */
}
