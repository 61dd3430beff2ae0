/* exec.c -- a recorded process that becomes another program goes on being recorded.
 * Runs: any thread of the target, maybe in a vfork child or a signal handler: no allocation, no
 * lock.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wrapper scripts and launchers exec the program that the user means. Our traces were taken out of
 * the environment at start-up so that children are left alone; they are put back for an exec of the
 * recorded process itself, and for nothing else. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/boot.h"
#include "capture/environment.h"
#include "capture/host.h"
#include "capture/thread.h"

#define EXPORT __attribute__((visibility("default")))

/* Whether this is the recorded process itself: not a fork child (wiped state), not a vfork child
 * (another pid). */
static bool is_recorded(void)
{
	return process && atomic_load(&process->state) == PROCESS_RECORDING &&
	       host_getpid() == process->pid;
}

/* A vfork child borrows our memory: the exec is the one moment at which it can be told and
 * counted. */
static void count_vfork_child(void)
{
	if (process && atomic_load(&process->state) == PROCESS_RECORDING &&
	    host_getpid() != process->pid)
		atomic_fetch_add_explicit(&process->header->children, 1, memory_order_relaxed);
}

/* The last that a program can say: whether it ended or became another cannot be seen from outside
 * when that one has ended, too. */
static void count_exec(uint32_t change)
{
	if (is_recorded())
		atomic_fetch_add_explicit(&process->header->execs, change, memory_order_relaxed);
}

/* The environment to exec with; the same one when there is nothing to put back. environment_drop
 * afterwards, which only a failed exec gets to. */
static char *const *prepare(char *const environment[])
{
	(void)boot_resolve();
	count_vfork_child();
	count_exec(1);
	return environment && is_recorded() ? environment_restore(environment) : environment;
}

static int give_up(char *const *used, char *const environment[])
{
	int saved = errno;

	count_exec((uint32_t)-1);
	if (used != environment)
		environment_drop(used);
	errno = saved;
	return -1;
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	char *const *used = prepare(environment);

	(void)real.execve(path, arguments, used);
	return give_up(used, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	char *const *used = prepare(environment);

	(void)real.execvpe(file, arguments, used);
	return give_up(used, environment);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
	return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	char *const *used = prepare(environment);

	(void)real.fexecve(fd, arguments, used);
	return give_up(used, environment);
}

/* ---- the forms with a list of arguments ------------------------------------------------------ */

/* Number of arguments up to and with the NULL; `list` is consumed. */
static size_t count_list(va_list list)
{
	size_t count = 2;

	while (va_arg(list, char *))
		count++;
	return count;
}

static void copy_list(char **arguments, const char *first, size_t count, va_list list)
{
	arguments[0] = (char *)(uintptr_t)first; /* NOLINT: exec's type */
	for (size_t i = 1; i < count; i++)
		arguments[i] = va_arg(list, char *);
}

/* Expands to the arguments in an array on this function's stack, as libc does it.
 * NOLINTBEGIN(bugprone-macro-parentheses): `arguments` is a name that is declared */
#define TAKE_LIST(arguments, first, list)                                        \
	va_start(list, first);                                                   \
	size_t arguments##_count = count_list(list);                             \
	va_end(list);                                                            \
	char **arguments = __builtin_alloca(arguments##_count * sizeof(char *)); \
	va_start(list, first);                                                   \
	copy_list(arguments, first, arguments##_count, list)
/* NOLINTEND(bugprone-macro-parentheses) */

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;

	TAKE_LIST(arguments, first, list);
	va_end(list);
	return execve(path, arguments, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;

	TAKE_LIST(arguments, first, list);
	va_end(list);
	return execvpe(file, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;

	TAKE_LIST(arguments, first, list);
	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, arguments, environment);
}
