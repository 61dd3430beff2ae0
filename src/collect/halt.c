/* halt.c -- the threads of the target, stopped for a moment, and what they have in their registers.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/halt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/registers.h"
#include "format/clock.h"

#define THREADS_MOST 65536u /* what a target can have slots for */
/* for a thread to stop: most do at once, one that is to run again must get its turn first */
#define PATIENCE_NS   UINT64_C(10000000000)
#define LOOK_NS	      50000L
#define DEAD_ROUNDS   16u   /* most stop before it is worth the while to read files */
#define ROUNDS_MOST   64    /* of looking for threads that were born meanwhile */
#define ONE_ROUNDS    400u  /* for a single thread to stop, of LOOK_NS and more */
#define WORKER_FLAG   0x10u /* PF_IO_WORKER, of Linux 5.12 and later */
#define LEAVING_SHARE 2u  /* the wait of a thread that is let go has to be seen to: see resume.h */
#define BUSY_ROUNDS   64u /* of waiting for a thread that runs for us, before it is worth a nap */

/* ---- one thread ------------------------------------------------------------------------------ */

/* What the kernel says of a thread that was asked to stop. A signal on its way to it is taken along
 * and delivered by the detaching; a stop of the whole process goes on without us. */
static void take_status(struct halt_thread *t, int status)
{
	if (!WIFSTOPPED(status)) {
		t->state = HALT_GONE;
		return;
	}
	t->state = HALT_STOPPED;
	t->signal = status >> 16 ? 0 : WSTOPSIG(status);
	t->is_quiet = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	t->is_halted = status >> 16 == PTRACE_EVENT_STOP && !t->is_quiet;
}

void halt_take(struct halt_thread *t, int status)
{
	take_status(t, status);
}

/* True if it is settled: stopped, or gone. */
static bool look_at(struct halt_thread *t)
{
	int status = 0;

	if (t->state != HALT_ASKED && t->state != HALT_DEAD)
		return true;
	pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);
	if (got == t->tid)
		take_status(t, status);
	else if (got < 0 && errno != EINTR)
		t->state = HALT_GONE;
	return t->state != HALT_ASKED;
}

/* One that is stopped may be killed nevertheless. */
static void look_again(struct halt_thread *t)
{
	int status;

	if (t->state == HALT_STOPPED && waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid)
		take_status(t, status);
}

/* A process that has been stopped by a signal finds its waits ended by that, whoever looks. */
static void let_go(struct halt *h, struct halt_thread *t)
{
	if (t->state != HALT_STOPPED)
		return;
	if (h->resume && !t->is_halted)
		resume_call(h->resume, t);
	long failed = ptrace(PTRACE_DETACH, t->tid, 0, (void *)(uintptr_t)t->signal); /* NOLINT */
	/* Killed meanwhile. */
	t->state = failed ? HALT_DEAD : HALT_GONE;
	(void)look_at(t);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_known(const struct halt *h, pid_t tid)
{
	for (size_t i = h->threads.count; i-- > 0;)
		if (h->threads.at[i].tid == tid)
			return true;
	return false;
}

/* A thread that has ended, and nobody has waited for: a main thread that left the others to it. */
static bool is_dead(pid_t tid)
{
	char path[64], text[512];
	size_t got = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH; /* we may have too many files open */
	got = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[got] = '\0';
	const char *name_end = strrchr(text, ')');
	return !name_end || strchr("ZX", name_end[1] ? name_end[2] : 'Z');
}

/* While another thread's exec waits for one that we trace and it has killed, a seize waits for the
 * exec: this waits for the dead from within. */
static struct halt *volatile seizing;

static void reap_dead(int number)
{
	const struct halt *h = seizing;
	int before = errno;

	(void)number;
	for (size_t i = 0; h && i < h->threads.count; i++) {
		struct halt_thread *t = &h->threads.at[i];
		siginfo_t info = {0};

		if (t->state != HALT_GONE &&
		    waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		    info.si_pid == t->tid && info.si_code != CLD_TRAPPED &&
		    info.si_code != CLD_STOPPED &&
		    waitpid(t->tid, NULL, __WALL | WNOHANG) == t->tid)
			t->state = HALT_GONE;
	}
	errno = before;
}

static long seize(struct halt *h, pid_t tid)
{
	const struct itimerval beat = {{0, 20000}, {0, 20000}}, none = {0};
	struct sigaction action = {.sa_handler = reap_dead, .sa_flags = SA_RESTART}, before;

	(void)sigaction(SIGALRM, &action, &before);
	seizing = h;
	(void)setitimer(ITIMER_REAL, &beat, NULL);
	long failed = ptrace(PTRACE_SEIZE, tid, 0, 0);
	int why = errno;
	(void)setitimer(ITIMER_REAL, &none, NULL);
	seizing = NULL;
	(void)sigaction(SIGALRM, &before, NULL);
	errno = why;
	return failed;
}

/* As the kernel names those that it has in a process for io_uring. */
static bool has_worker_name(pid_t tid)
{
	char path[64], name[16] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)!read(fd, name, sizeof(name) - 1);
	(void)close(fd);
	return strncmp(name, "iou-", 4) == 0;
}

/* A program may give its threads such names too. */
static bool has_worker_flag(pid_t tid)
{
	char path[64], text[512];
	unsigned long flags = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t got = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[got] = '\0';
	const char *end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
	       flags & WORKER_FLAG;
}

bool halt_is_worker(pid_t tid)
{
	return has_worker_name(tid) && has_worker_flag(tid);
}

uint64_t halt_get_leaving_ns(const struct halt *h)
{
	return h->asking_ns * LEAVING_SHARE;
}

/* Those that have stopped wait meanwhile. */
static bool is_too_late(const struct halt *h)
{
	uint64_t stopped_ns = h->since_ns ? clock_monotonic_ns() - h->since_ns : 0;

	return h->most_ns && stopped_ns + halt_get_leaving_ns(h) > h->most_ns;
}

/* One that ends just now is no failure. */
static int ask(struct halt *h, const struct halt_call *call, struct error *e)
{
	if (h->threads.count >= THREADS_MOST)
		return error_set(e, "it has too many threads");
	if (is_too_late(h))
		return error_set(e, "its threads take too long to stop");
	if (seize(h, call->tid) != 0) {
		int why = errno;

		if (why == ESRCH || is_dead(call->tid))
			return 0;
		return error_set(e, "%s",
				 why == EPERM ? "the kernel forbids it (another debugger, or "
						"kernel.yama.ptrace_scope)"
					      : strerror(why));
	}
	struct halt_thread *t = vec_push(&h->threads);
	memset(t, 0, sizeof(*t));
	t->tid = call->tid;
	t->is_told = call->is_told;
	if (h->resume)
		resume_see(&t->seen, t->tid);
	(void)ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	return 0;
}

static bool has_children(pid_t pid, pid_t tid)
{
	char path[64], byte;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool found = read(fd, &byte, 1) == 1;
	(void)close(fd);
	return found;
}

bool halt_is_told(pid_t pid, pid_t tid)
{
	return tid == pid || has_children(pid, tid);
}

/* A signal that nobody wants is dropped where it arrives, unless that thread is traced: then it
 * wakes one that is not, and ends its wait with EINTR. Those of the process arrive at its main
 * thread, those of a child at the thread that has made it: these are asked last and let go first.
 */
static int list_new(struct halt *h, pid_t pid, struct error *e)
{
	char path[64];
	const struct dirent *entry;

	h->calls.count = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	if (!tasks && errno == ENOENT)
		return error_set(e, "it has ended");
	if (!tasks)
		return error_set_errno(e, "its threads cannot be listed");
	while ((entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !is_known(h, tid) && (tid == pid || !halt_is_worker(tid)))
			*vec_push(&h->calls) = (struct halt_call){tid, halt_is_told(pid, tid)};
	}
	(void)closedir(tasks);
	return 0;
}

static int ask_those(struct halt *h, bool are_told, struct error *e)
{
	uint64_t now = clock_monotonic_ns(), begin = now - h->asking_ns;

	for (size_t i = 0; i < h->calls.count; i++) {
		if (h->calls.at[i].is_told != are_told)
			continue;
		h->since_ns = h->since_ns ? h->since_ns : now;
		if (ask(h, &h->calls.at[i], e))
			return -1;
		h->asking_ns = clock_monotonic_ns() - begin;
	}
	return 0;
}

/* The number of threads that are new, or -1 with `e`. */
static int ask_new(struct halt *h, pid_t pid, struct error *e)
{
	size_t before = h->threads.count;

	if (list_new(h, pid, e) || ask_those(h, false, e) || ask_those(h, true, e))
		return -1;
	return (int)(h->threads.count - before);
}

/* True if nobody is left to wait for. Of a main thread that has died nothing is heard before the
 * others have been waited for, which may live on, or be stopped: it is asked for by other means. */
static bool look_at_all(struct halt *h, bool with_dead)
{
	bool settled = true;

	for (size_t i = 0; i < h->threads.count; i++) {
		struct halt_thread *t = &h->threads.at[i];

		/* Killed by the exec of another one, which goes on when we have waited for it. */
		if (with_dead)
			look_again(t);
		if (!look_at(t) && with_dead && is_dead(t->tid))
			t->state = HALT_DEAD;
		settled &= t->state != HALT_ASKED;
	}
	return settled;
}

static bool await_all(struct halt *h)
{
	const struct timespec nap = {.tv_nsec = LOOK_NS};
	uint64_t last = clock_monotonic_ns() + PATIENCE_NS;

	for (unsigned round = 1; !look_at_all(h, round % DEAD_ROUNDS == 0); round++) {
		if (clock_monotonic_ns() > last || is_too_late(h))
			return false;
		(void)nanosleep(&nap, NULL);
	}
	return true;
}

bool halt_one(struct halt *h, pid_t tid)
{
	const struct timespec nap = {.tv_nsec = LOOK_NS};
	struct error ignored = {0};
	size_t before = h->threads.count;

	if (is_known(h, tid) || ask(h, &(struct halt_call){.tid = tid}, &ignored) ||
	    h->threads.count == before)
		return false;
	struct halt_thread *t = &h->threads.at[before];
	for (unsigned round = 0; !look_at(t) && round < ONE_ROUNDS; round++)
		(void)nanosleep(&nap, NULL);
	return t->state == HALT_STOPPED;
}

bool halt_await(struct halt_thread *t, int *status)
{
	const struct timespec nap = {.tv_nsec = LOOK_NS};

	for (unsigned round = 1;; round++) {
		pid_t got = waitpid(t->tid, status, __WALL | WNOHANG);

		if (got == t->tid && WIFSTOPPED(*status))
			return true;
		if (got == t->tid || (got < 0 && errno != EINTR)) {
			t->state = HALT_GONE;
			return false;
		}
		/* A main thread is heard of behind the others. */
		if (round % BUSY_ROUNDS == 0 && is_dead(t->tid)) {
			t->state = HALT_DEAD;
			return false;
		}
		if (round < BUSY_ROUNDS)
			(void)sched_yield();
		else
			(void)nanosleep(&nap, NULL);
	}
}

/* A thread that was running may have made another one before it stopped: until there is none. */
static int stop_all(struct halt *h, pid_t pid, struct error *e)
{
	for (int round = 0; round < ROUNDS_MOST; round++) {
		int found = ask_new(h, pid, e);

		if (found <= 0)
			return found;
		if (!await_all(h))
			return error_set(e, "a thread does not stop");
	}
	return error_set(e, "it makes threads faster than they can be stopped");
}

static void forget_gone(struct halt *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->threads.count; i++)
		if (h->threads.at[i].state != HALT_GONE)
			h->threads.at[kept++] = h->threads.at[i];
	h->threads.count = kept;
}

/* The main thread is the first one: it is heard of behind the others. */
static void put_first(struct halt *h, pid_t pid)
{
	for (size_t i = 1; i < h->threads.count; i++) {
		if (h->threads.at[i].tid != pid)
			continue;
		struct halt_thread main = h->threads.at[i];
		h->threads.at[i] = h->threads.at[0];
		h->threads.at[0] = main;
	}
}

static int read_registers(struct halt *h, struct error *e)
{
	for (size_t i = 0; i < h->threads.count; i++) {
		struct halt_thread *t = &h->threads.at[i];

		if (t->state != HALT_STOPPED)
			continue;
		if (is_too_late(h))
			return error_set(e, "its threads take too long to stop");
		struct registers r = registers_read(t->tid, t->words, HALT_WORDS);
		t->sp = r.sp;
		t->pointer = r.pointer;
		t->word_count = r.count;
	}
	return 0;
}

int halt_start(struct halt *h, pid_t pid, struct error *e)
{
	forget_gone(h);
	h->asking_ns = h->since_ns = 0;
	bool is_done = stop_all(h, pid, e) == 0;
	put_first(h, pid);
	if (is_done && read_registers(h, e) == 0)
		return 0;
	(void)look_at_all(h, false); /* some may have stopped since they were asked */
	halt_end(h);
	return -1;
}

void halt_end(struct halt *h)
{
	for (size_t i = 0; i < h->threads.count; i++)
		if (h->threads.at[i].is_told)
			let_go(h, &h->threads.at[i]);
	for (size_t i = 0; i < h->threads.count; i++)
		let_go(h, &h->threads.at[i]);
}

void halt_attend(struct halt *h)
{
	for (size_t i = h->threads.count; i-- > 0;) {
		struct halt_thread *t = &h->threads.at[i];

		if (t->state == HALT_STOPPED) {
			look_again(t);
		} else {
			(void)look_at(t);
			let_go(h, t);
		}
	}
}

bool halt_settle(struct halt *h)
{
	bool settled = true;

	for (size_t i = h->threads.count; i-- > 0;) {
		(void)look_at(&h->threads.at[i]);
		let_go(h, &h->threads.at[i]);
		settled &= h->threads.at[i].state != HALT_ASKED;
	}
	forget_gone(h);
	return settled;
}

void halt_fini(struct halt *h)
{
	vec_free(&h->threads);
	vec_free(&h->calls);
}
