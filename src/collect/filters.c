/* filters.c -- filters of system calls (seccomp): whether a thread of the target is under the very
 * same ones as the collector, and what these say to the calls that make a copy.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/filters.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/twin.h"

#define MODE_NONE   0
#define MODE_FILTER 2
#define UNKNOWN	    (-1L)
#define NAP_NS	    1000000L
#define NAPS_MOST   2000u /* whom a filter asks may never answer */

struct status {
	long mode;
	long count;
};

static struct status read_status(const char *path)
{
	struct status status = {UNKNOWN, UNKNOWN};
	char line[256];
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Seccomp:", 8) == 0)
			status.mode = strtol(line + 8, NULL, 10);
		if (strncmp(line, "Seccomp_filters:", 16) == 0)
			status.count = strtol(line + 16, NULL, 10);
	}
	if (file)
		(void)fclose(file);
	return status;
}

bool filters_are(pid_t tid, uint32_t count)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	struct status status = read_status(path);
	if (count == 0)
		return status.mode == MODE_NONE;
	return status.mode == MODE_FILTER && status.count == (long)count;
}

uint32_t filters_count_own(void)
{
	struct status status = read_status("/proc/thread-self/status");

	return status.mode == MODE_FILTER && status.count > 0 ? (uint32_t)status.count : 0;
}

/* ---- the trial ------------------------------------------------------------------------------- */

/* What those who try leave behind. */
struct trial {
	_Atomic int32_t born;
	_Atomic uint32_t settled;
	_Atomic uint32_t buried;
};

/* In the process that tries, as a thread of the target and its copy would. A filter that kills
 * leaves no core. */
_Noreturn static void try_calls(struct trial *t, uint64_t flags)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGSYS, SIG_DFL);
	long born = syscall(SYS_clone, flags, 0, 0, 0, 0);
	if (born == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (syscall(TWIN_CLOSE_RANGE, 0, UINT32_MAX, TWIN_CLOSE_UNSHARE) == 0)
			atomic_store(&t->settled, 1);
		_exit(0);
	}
	if (born > 0)
		atomic_store(&t->born, (int32_t)born);
	if (born > 0 && !(flags & CLONE_PARENT) &&
	    syscall(SYS_wait4, born, NULL, (unsigned)__WCLONE, NULL) == born)
		atomic_store(&t->buried, 1);
	_exit(born > 0 ? 0 : 1);
}

/* Waits for one of them for a while, and then ends it. True: it has ended by itself, and well. */
static bool await(pid_t pid)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int status = 1;

	for (unsigned i = 0;; i++) {
		pid_t got = waitpid(pid, &status, __WALL | WNOHANG);

		if (got == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (got < 0 && errno != EINTR)
			return false;
		if (i == NAPS_MOST)
			(void)kill(pid, SIGKILL);
		(void)nanosleep(&nap, NULL);
	}
}

/* With CLONE_PARENT the second one is a child of ours too. */
static bool run_trial(struct trial *t, uint64_t flags)
{
	pid_t pid = fork();

	if (pid == 0)
		try_calls(t, flags);
	if (pid < 0)
		return false;
	bool ended = await(pid);
	pid_t born = atomic_load(&t->born);
	if (flags & CLONE_PARENT)
		return born && await(born) && ended && atomic_load(&t->settled);
	return ended && atomic_load(&t->settled) && atomic_load(&t->buried);
}

bool filters_try(uint64_t flags)
{
	struct trial *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return false;
	bool done = run_trial(t, flags);
	(void)munmap(t, sizeof(*t));
	return done;
}

/* ---- putting them aside ---------------------------------------------------------------------- */

/* We may have been killed before it could ask for our end. */
_Noreturn static void await_end(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		(void)pause();
}

/* Of one that is ours to trace. */
static bool set_suspended(pid_t pid)
{
	int status;

	return ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 &&
	       waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       ptrace(PTRACE_SETOPTIONS, pid, 0, (void *)(uintptr_t)FILTERS_SUSPEND) ==
		       0; /* NOLINT */
}

bool filters_can_suspend(void)
{
	if (read_status("/proc/thread-self/status").mode != MODE_NONE)
		return false;
	pid_t own = getpid(), pid = fork();
	if (pid == 0)
		await_end(own);
	if (pid < 0)
		return false;
	bool can = set_suspended(pid);
	(void)kill(pid, SIGKILL);
	(void)await(pid);
	return can;
}
