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
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/env.h"

/* ---- the library ----------------------------------------------------------------------------- */

/* Where there is no /proc, the path that we were started by. */
static int find_self(char self[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
	const char *started_as = (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel's */

	if (length >= 0) {
		self[length] = '\0';
		return 0;
	}
	return started_as && realpath(started_as, self) ? 0 : -1;
}

char *launch_find_library(struct error *e)
{
	static const char *const places[] = {"libmidden.so", "../lib/libmidden.so",
					     "../lib/" MIDDEN_MULTIARCH "/libmidden.so",
					     "../lib64/libmidden.so"};
	char self[PATH_MAX];

	if (find_self(self)) {
		(void)error_set_errno(e, "cannot tell where this command is");
		return NULL;
	}
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

int launch_check_library(const char *library, struct error *e)
{
	if (strpbrk(library, ": \t"))
		return error_set(
			e,
			"the loader cannot preload %s, because of the space or colon in its "
			"path: install it elsewhere",
			library);
	return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* AddressSanitizer ends a program in which another library comes before its own. */
static void calm_sanitizer(void)
{
	const char *others = getenv("ASAN_OPTIONS");
	char *options = mem_format("%s%sverify_asan_link_order=0", others ? others : "",
				   others && *others ? ":" : "");

	(void)setenv("ASAN_OPTIONS", options, 1);
	free(options);
}

static void set_environment(const struct launch *launch)
{
	const char *others = getenv("LD_PRELOAD");
	char *list = others && *others ? mem_format("%s:%s", launch->library, others)
				       : mem_copy_string(launch->library);

	/* First in the list: other preloaded allocators are then the next definition behind us. */
	(void)setenv("LD_PRELOAD", list, 1);
	(void)setenv(ENV_SOCKET, launch->socket, 1);
	free(list);
	if (launch->calms_sanitizer)
		calm_sanitizer();
}

static void __attribute__((noreturn)) become_program(const struct launch *launch, int failure)
{
	set_environment(launch);
	if (launch->ignores_children)
		(void)signal(SIGCHLD, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, launch->signals, NULL);
	if (launch->path) /* execvp would have a shell read a program that the kernel refuses */
		(void)execv(launch->path, launch->arguments);
	else
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
	ssize_t got = -1;

	while (child > 0 && (got = read(failure[0], &number, sizeof(number))) < 0 && errno == EINTR)
		continue;
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
