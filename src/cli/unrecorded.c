/* unrecorded.c -- processes that nobody answers for, and why. Runs: in the command that asks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/unrecorded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control.h"
#include "cli/procfs.h"
#include "cli/recording.h"

/* A number of /proc/PID/status, by the name before it; 0: not to be had. */
static pid_t read_number(pid_t pid, const char *name)
{
	char path[64], line[256];
	int number = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			number = atoi(line + strlen(name));
	if (f)
		(void)fclose(f);
	return number;
}

pid_t unrecorded_find_process(pid_t thread)
{
	pid_t process = read_number(thread, "Tgid:");

	return process == thread ? 0 : process;
}

static bool is_collector(pid_t pid)
{
	char *name = procfs_read_name(pid);
	bool is_one = strcmp(name, RECORDING_NAME) == 0;

	free(name);
	return is_one;
}

/* Whom a collector records: its socket is named after that. The recorder's name, which it may have
 * too, is not meant. 0: not to be had. */
static pid_t find_target(pid_t collector)
{
	pid_t recorder = read_number(collector, "PPid:"), found = 0;
	char line[512];
	FILE *f = fopen("/proc/net/unix", "re");

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *name = strstr(line, "@" CONTROL_NAME);
		pid_t target = name ? atoi(name + strlen("@" CONTROL_NAME)) : 0;

		if (target > 0 && target != recorder && control_find_collector(target) == collector)
			found = target;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static int explain_collector(pid_t collector, struct error *e)
{
	pid_t target = find_target(collector);

	if (target)
		return error_set(e, "process %d is the collector of process %d: ask for %d",
				 (int)collector, (int)target, (int)target);
	return error_set(e, "process %d is a collector: ask for the process that it records",
			 (int)collector);
}

int unrecorded_explain(pid_t target, struct error *e)
{
	if (kill(target, 0) && errno == ESRCH)
		return error_set(e, "there is no process %d", (int)target);
	if (is_collector(target))
		return explain_collector(target, e);
	return error_set(e,
			 "process %d is not being recorded: start it with `midden record`, or with "
			 "LD_PRELOAD=libmidden.so",
			 (int)target);
}
