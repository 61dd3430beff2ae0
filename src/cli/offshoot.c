/* offshoot.c -- a copy of the collector that hands out the profile so far, while the collector goes
 * on. Runs: in a collector process, and in the copy.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/offshoot.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 4096 /* a collector has a dozen */

bool offshoot_is_busy(struct offshoot *o)
{
	/* Without a child to wait for there is an error: it has been reaped unseen. */
	if (o->pid && waitpid(o->pid, NULL, WNOHANG) != 0)
		o->pid = 0;
	return o->pid != 0;
}

void offshoot_close_from(int first)
{
	for (int fd = first; fd < DESCRIPTORS_MAX; fd++)
		close(fd);
}

static void keep_only(int connection)
{
	(void)dup2(connection, OFFSHOOT_CONNECTION);
	offshoot_close_from(OFFSHOOT_CONNECTION + 1);
}

static void send_profile(const struct offshoot_task *task)
{
	struct error ignored = {0};
	char path[32];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	bool wanted = task->announce(task->context, OFFSHOOT_CONNECTION, ends[0]);
	close(ends[0]);
	close(OFFSHOOT_CONNECTION);
	if (!wanted)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	(void)profile_write(task->build(task->context), path, &ignored);
}

static void __attribute__((noreturn)) be_offshoot(const struct offshoot_task *task)
{
	(void)prctl(PR_SET_NAME, "midden-state");
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(OFFSHOOT_SECONDS);
	keep_only(task->connection);
	send_profile(task);
	_exit(0); /* nothing of the collector's is flushed or given back */
}

bool offshoot_start(struct offshoot *o, const struct offshoot_task *task)
{
	if (offshoot_is_busy(o))
		return false;
	pid_t pid = fork();
	if (pid == 0)
		be_offshoot(task);
	o->pid = pid > 0 ? pid : 0;
	return pid > 0;
}
