/* processes.c -- children of all kinds, and the ends of a process.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "torture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PENDING		32u
#define GENERATION_MOST 2u

extern char **environ;

/* Forked children that nobody has waited for yet. */
static _Atomic int pending[PENDING];
static atomic_bool is_ending;

/* Held around fork, and around what libc does under locks that it does not set free in a child:
 * the loader's work, popen, system. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void processes_lock(void)
{
	(void)pthread_mutex_lock(&lock);
}

void processes_unlock(void)
{
	(void)pthread_mutex_unlock(&lock);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

/* The plan of the last image of a process: that of its exec, if there was one. */
static uint64_t find_plan(pid_t pid)
{
	uint64_t plan = END_NOT_PLANNED, used = atomic_load(&account_page->images_used);

	for (uint64_t i = 0; i < used && i < IMAGES; i++) {
		if (atomic_load(&account_page->image[i].pid) == (uint64_t)pid)
			plan = atomic_load(&account_page->image[i].planned_end);
	}
	return plan;
}

static void wait_and_check(pid_t pid)
{
	int status = wait_for(pid);
	uint64_t seen = WIFSIGNALED(status) ? 256u + (uint64_t)WTERMSIG(status)
					    : (uint64_t)WEXITSTATUS(status);

	if (status >= 0 && seen == find_plan(pid))
		return;
	atomic_fetch_add(&account_image->surprises, 1);
	fprintf(stderr, "torture: child %d ended with %d, not as planned\n", (int)pid, status);
}

void processes_wait_all(void)
{
	for (unsigned i = 0; i < PENDING; i++) {
		pid_t pid = atomic_exchange(&pending[i], 0);

		if (pid)
			wait_and_check(pid);
	}
}

static bool leave_pending(pid_t pid)
{
	for (unsigned i = 0; i < PENDING; i++) {
		int expected = 0;

		if (atomic_compare_exchange_strong(&pending[i], &expected, pid))
			return true;
	}
	return false;
}

/* ---- fork ------------------------------------------------------------------------------------ */

static _Noreturn void be_child(uint64_t image, uint64_t seed, unsigned steps)
{
	static struct worker own; /* the thread's own may be one of an array that starts over */

	account_use_image(image);
	blocks_forget_all();
	threads_forget_all();
	for (unsigned i = 0; i < PENDING; i++)
		atomic_store(&pending[i], 0);
	atomic_store(&is_stopping, false);
	atomic_store(&is_ending, false);
	habits.generation++;
	habits.steps = steps;
	memset(&own, 0, sizeof(own));
	own.chance.state = seed;
	own.in_handler.state = ~seed;
	worker_set(&own);
	torture_steps(&own, steps);
	processes_end(&own);
}

void processes_fork(struct worker *me)
{
	uint64_t seed = chance_next(&me->chance);
	unsigned steps = (unsigned)chance_below(&me->chance, 1 + habits.steps / 3);
	bool wait_now = chance_below(&me->chance, 3) != 0;
	uint64_t image;

	if (habits.generation >= GENERATION_MOST || !account_reserve_image(&image))
		return;
	count_begin(&account_image->children, 1);
	processes_lock();
	pid_t pid = fork();
	processes_unlock();
	if (pid == 0)
		be_child(image, seed, steps);
	if (pid < 0)
		torture_die("cannot fork");
	count_end(&account_image->children, 1);
	if (wait_now || !leave_pending(pid))
		wait_and_check(pid);
}

/* ---- other programs -------------------------------------------------------------------------- */

static char *const true_arguments[] = {(char *)"true", NULL};

static int spawn_true(void)
{
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, true_arguments, environ) == 0
		       ? wait_for(pid)
		       : -1;
}

static int vfork_true(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/bin/true", true_arguments, environ);
		_exit(1);
	}
	return pid < 0 ? -1 : wait_for(pid);
}

static int popen_echo(void)
{
	char line[16] = "";

	processes_lock();
	FILE *stream = popen("echo good", "r");
	processes_unlock();
	if (!stream)
		return -1;
	bool good = fgets(line, sizeof(line), stream) && strcmp(line, "good\n") == 0;
	processes_lock();
	int status = pclose(stream);
	processes_unlock();
	return good ? status : -1;
}

static int system_exit(void)
{
	processes_lock();
	int status = system("exit 0");
	processes_unlock();
	return status;
}

void processes_spawn(struct worker *me)
{
	int status = -1;

	count_begin(&account_image->children, 1);
	switch (chance_below(&me->chance, 4)) {
	case 0:
		status = spawn_true();
		break;
	case 1:
		status = vfork_true();
		break;
	case 2:
		status = popen_echo();
		break;
	default:
		status = system_exit();
	}
	count_end(&account_image->children, 1);
	if (status != 0) {
		atomic_fetch_add(&account_image->surprises, 1);
		fprintf(stderr, "torture: another program ended with %d\n", status);
	}
}

/* ---- ends ------------------------------------------------------------------------------------ */

static _Noreturn void end_exec(uint64_t seed)
{
	char text[4][24];
	const char *kind = habits.calm	     ? "calm"
			   : habits.jumping  ? "jumping"
			   : habits.anywhere ? "anywhere"
					     : "wild";

	(void)snprintf(text[0], sizeof(text[0]), "%llu", (unsigned long long)seed);
	(void)snprintf(text[1], sizeof(text[1]), "%u", habits.steps / 2);
	(void)snprintf(text[2], sizeof(text[2]), "%u", habits.generation + 1);
	paths_disarm();
	execl(habits.other_self, habits.other_self, text[0], text[1], text[2], kind,
	      habits.account_path, habits.plugin_directory, habits.other_self, (char *)NULL);
	_exit(98);
}

static int *volatile nowhere; /* so that no compiler sees through it */

static _Noreturn void end_killed(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

enum end { END_EXIT, END_QUIETLY, END_QUICK, END_ABORT, END_KILLED, END_FAULT, END_BECOME, ENDS };

static _Noreturn void end_as_planned(enum end end, uint64_t seed, int status)
{
	switch (end) {
	case END_EXIT:
		exit(status);
	case END_QUIETLY:
		_exit(status);
	case END_QUICK:
		quick_exit(status);
	case END_ABORT:
		abort();
	case END_KILLED:
		end_killed();
	case END_FAULT:
		*(volatile int *)nowhere = 0;
		_exit(97);
	default:
		end_exec(seed);
	}
}

static uint64_t plan_of(enum end end, int status)
{
	switch (end) {
	case END_ABORT:
		return 256 + SIGABRT;
	case END_KILLED:
		return 256 + SIGKILL;
	case END_FAULT:
		return 256 + SIGSEGV;
	case END_BECOME:
		return END_EXEC;
	default:
		return (uint64_t)status;
	}
}

/* Orderly: the first thread of the process, when all others are gone. Otherwise in the middle. */
_Noreturn void processes_end(struct worker *me)
{
	enum end end = (enum end)chance_below(&me->chance, ENDS);
	uint64_t seed = chance_next(&me->chance);
	int status = (int)chance_below(&me->chance, 90);
	bool is_first = getpid() == (pid_t)syscall(SYS_gettid);

	if (end == END_BECOME && (habits.generation >= GENERATION_MOST || !account_has_room()))
		end = END_QUIETLY;
	if (is_first && chance_below(&me->chance, 3) != 0) {
		atomic_store(&is_stopping, true);
		threads_wait_all();
		processes_wait_all();
	}
	if (atomic_exchange(&is_ending, true)) {
		for (;;) /* another thread was faster */
			(void)pause();
	}
	atomic_store(&account_image->planned_end, plan_of(end, status));
	end_as_planned(end, seed, status);
}
