/* say.c -- one-line messages on standard error. Runs: anywhere in the target; no stdio, no
 * allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/host.h"

/* What descriptor 2 was at start-up: later it may be a file of the program's own. */
static struct stat first;
static bool has_first;

static bool look(struct stat *now)
{
	return HOST_CALL2(SYS_fstat, 2, now) == 0;
}

void say_init(void)
{
	has_first = look(&first);
}

static bool is_same(void)
{
	struct stat now = {0};

	return has_first && look(&now) && now.st_dev == first.st_dev && now.st_ino == first.st_ino;
}

/* A pipe without a reader must not kill the program: the signal that it would send is held back
 * and taken. */
static void write_quietly(const char *line, size_t bytes)
{
	const uint64_t pipe_signal = UINT64_C(1) << (SIGPIPE - 1);
	const struct timespec at_once = {0};
	uint64_t before, pending = 0;

	(void)HOST_CALL2(SYS_rt_sigpending, &pending, sizeof(pending));
	(void)HOST_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &pipe_signal, &before, sizeof(before));
	long result = HOST_CALL3(SYS_write, 2, line, bytes);
	if (result == -EPIPE && !(pending & pipe_signal))
		(void)HOST_CALL4(SYS_rt_sigtimedwait, &pipe_signal, 0, &at_once,
				 sizeof(pipe_signal));
	(void)HOST_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
}

void say(const char *text)
{
	char line[256] = "midden: ";
	size_t used = 8;

	if (!is_same())
		return;
	while (*text && used < sizeof(line) - 1)
		line[used++] = *text++;
	line[used++] = '\n';
	write_quietly(line, used);
}
