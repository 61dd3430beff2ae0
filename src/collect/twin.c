/* twin.c -- a copy of the target as it is at one moment, which is read while the target goes on.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/twin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/filters.h"
#include "collect/inject.h"
#include "collect/requests.h"
#include "format/clock.h"

#define ASKED_MOST   8u			  /* threads: where these cannot, most of them cannot */
#define PARENTS_MOST 64u		  /* from a process up to where it comes from */
#define TRY_NS	     UINT64_C(20000000)	  /* between two looks for a thread that can wait */
#define CHOOSY_NS    UINT64_C(2000000000) /* for which one is looked for that does not mind */
#define AGAIN_NS     UINT64_C(1000000000) /* after a try that came to nothing */
#define LAST_NS	     UINT64_C(3000000000) /* for the last one: a try, and some more */
#define NAP_NS	     1000000L

/* ---- whether --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Devices write to pages by themselves: after a fork these may be the copy's, no longer the
 * target's. */
static bool is_shared_with_others(const char *name)
{
	return strstr(name, "[vfio") || begins(name, "socket:[") ||
	       (begins(name, "/dev/") && !begins(name, "/dev/shm/") && !begins(name, "/dev/zero") &&
		!begins(name, "/dev/hugepages/"));
}

/* So do requests that are under way, unless the kernel knows of it (see requests.h). NULL: nobody
 * does, or why there can be no copy. */
static const char *find_writer(const struct regions *regions, pid_t target)
{
	bool has_ring = false, has_aio = false;

	for (size_t i = 0; i < regions->list.count; i++) {
		const char *name = regions_get_name(regions, &regions->list.at[i]);

		if (is_shared_with_others(name))
			return "it has a device or a socket mapped";
		has_ring |= strstr(name, "[io_uring]") != NULL;
		has_aio |= strstr(name, "[aio]") != NULL;
	}
	if ((!has_ring && !has_aio) || requests_survive_fork(target, has_ring))
		return NULL;
	return has_ring ? "it has an io_uring" : "it has an aio context";
}

/* Whether there may be one, of the kind that is wanted. */
static bool is_copyable(struct twin *t, const struct regions *regions, pid_t target)
{
	t->why = find_writer(regions, target);
	t->needs_leave = !t->why && t->only_sibling && !t->is_sibling;
	if (t->needs_leave)
		t->why = "`midden record` is not its parent";
	return !t->why;
}

/* ---- what the kernel says of a process ---------------------------------------------------- */

struct state {
	bool is_unknown; /* it cannot be told, for now */
	char letter;	 /* 0: there is no such process */
	pid_t parent;
};

static struct state read_state(pid_t pid)
{
	struct state state = {0};
	char path[64], text[512];
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file) /* we may have too many files open */
		return (struct state){.is_unknown = errno != ENOENT && errno != ESRCH};
	size_t got = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[got] = '\0';
	const char *end = strrchr(text, ')'); /* the name may hold anything */
	if (end && sscanf(end + 1, " %c %d", &state.letter, &parent) == 2)
		state.parent = parent;
	else
		state.letter = 0;
	return state;
}

/* Whether two names of namespaces, as /proc has them, are of the same one: where there is none of
 * this kind, they are. A name that cannot be had is that of one which has yet to begin. */
static bool is_same_namespace(const char *left, const char *right)
{
	char a[64], b[64];
	ssize_t in_a = readlink(left, a, sizeof(a)), in_b = readlink(right, b, sizeof(b));

	return in_a < 0 || (in_a == in_b && memcmp(a, b, (size_t)in_a) == 0);
}

/* The first child of a thread that has asked for another namespace is what that begins with: a
 * copy would end it for all. */
static bool has_like_children(pid_t pid, pid_t tid)
{
	static const char *const kinds[] = {"pid", "time"};
	char own[80], of_children[96];
	bool alike = true;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)snprintf(own, sizeof(own), "/proc/%d/task/%d/ns/%s", (int)pid, (int)tid,
			       kinds[i]);
		(void)snprintf(of_children, sizeof(of_children), "%s_for_children", own);
		alike = alike && is_same_namespace(own, of_children);
	}
	return alike;
}

/* Process 1 of a namespace of its own may have no siblings. */
static bool can_be_sibling(pid_t undertaker, pid_t target)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)target);
	return undertaker && read_state(target).parent == undertaker &&
	       is_same_namespace(path, "/proc/self/ns/pid");
}

/* Whether the target is one that the undertaker's children have come from, as we have. Where there
 * is none, the target has started us itself. */
static bool is_relative(pid_t undertaker, pid_t target)
{
	pid_t pid = target;

	for (unsigned i = 0; undertaker && i < PARENTS_MOST && pid > 1 && pid != undertaker; i++)
		pid = read_state(pid).parent;
	return !undertaker || pid == undertaker;
}

/* ---- filters of system calls ----------------------------------------------------------------- */

/* No signal at its end, or that of its sibling. Descriptors are shared until it gives them up: a
 * copy of the table would keep pipes open that the target closes. */
static uint64_t get_flags(bool is_sibling)
{
	return CLONE_FILES | (is_sibling ? (uint64_t)CLONE_PARENT : 0);
}

/* How many a thread of the target may be under: those that we have too, if they let us do what a
 * copy is made by. They do not change, nor does the answer. */
static uint32_t find_filters(struct twin *t, pid_t target)
{
	uint32_t own = filters_count_own();
	enum twin_trial *trial = &t->trials[t->is_sibling ? TWIN_SIBLING : TWIN_CHILD];

	if (!own || !filters_are(target, own) || !is_relative(t->undertaker, target))
		return 0;
	if (*trial == TWIN_UNTRIED)
		*trial = filters_try(get_flags(t->is_sibling)) ? TWIN_DONE : TWIN_REFUSED;
	return *trial == TWIN_DONE ? own : 0;
}

/* Nor does whether filters of the target's own can be put aside. */
static bool can_suspend(struct twin *t)
{
	if (t->suspension == TWIN_UNTRIED)
		t->suspension = filters_can_suspend() ? TWIN_DONE : TWIN_REFUSED;
	return t->suspension == TWIN_DONE;
}

bool twin_prepare(struct twin *t, const struct regions *regions, pid_t target)
{
	t->why = "the last copy has not been waited for yet";
	if (t->dead) /* whose kind and filters are those that it is buried by */
		return false;
	t->is_sibling = can_be_sibling(t->undertaker, target);
	t->filters = 0;
	t->suspends = false;
	bool is_wanted = is_copyable(t, regions, target);
	if ((!is_wanted && !t->needs_leave) || filters_are(target, 0))
		return is_wanted;
	t->filters = find_filters(t, target);
	t->suspends = !t->filters && can_suspend(t);
	if (t->filters || t->suspends)
		return is_wanted;
	t->why = "it has a filter of system calls";
	t->needs_leave = false; /* which would be of no use */
	return false;
}

/* ---- its life -------------------------------------------------------------------------------- */

static struct region find_region(const struct regions *regions, uint64_t address)
{
	const struct region *found = address ? regions_find(regions, address) : NULL;

	return found ? *found : (struct region){0};
}

/* Of a target that has become another program there is no way back. */
static bool is_same(const struct regions *regions, uint64_t address, const struct region *as)
{
	struct region now = find_region(regions, address);

	return now.end && now.start == as->start && now.inode == as->inode &&
	       now.is_writable == as->is_writable && now.is_executable == as->is_executable;
}

static struct inject_target choose_way(const struct twin *t, const struct regions *regions,
				       pid_t target, uint64_t code)
{
	bool has_way =
		code && is_same(regions, code, &t->code) && is_same(regions, t->way.room, &t->room);

	return (struct inject_target){.pid = target,
				      .gate = inject_find_gate(regions, target),
				      .filters = t->filters,
				      .suspends = t->suspends,
				      .code = has_way ? code : 0,
				      .room = has_way ? t->way.room : 0};
}

/* True: one has been made, or the kernel refuses it, as it would again. */
static bool ask_threads(struct twin *t, struct halt *h, const struct inject_target *asked,
			const struct registers_call *call)
{
	for (size_t i = 0; i < h->threads.count && i < ASKED_MOST; i++) {
		if (!inject_is_able(asked, &h->threads.at[i]) ||
		    !has_like_children(asked->pid, h->threads.at[i].tid))
			continue;
		struct inject_answer answer = inject_run(asked, &h->threads.at[i], call);
		t->pid = answer.born;
		t->name = (pid_t)answer.value;
		if (answer.is_done || answer.born)
			return true;
	}
	return false;
}

bool twin_make(struct twin *t, struct halt *h, const struct regions *regions, pid_t target)
{
	struct registers_call call = {SYS_clone, {0}};
	bool was_sibling = t->is_sibling;

	t->is_sibling = can_be_sibling(t->undertaker, target);
	call.arguments[0] = get_flags(t->is_sibling);
	if (!is_copyable(t, regions, target))
		return false;
	t->why = "the kernel refuses it, or no thread can be asked for it";
	if (t->filters && t->is_sibling != was_sibling)
		return false; /* its parent has ended: they were asked for the other kind */
	t->code = find_region(regions, t->way.fork);
	t->room = find_region(regions, t->way.room);
	struct inject_target asked = choose_way(t, regions, target, t->way.fork);

	t->gate = asked.gate;
	/* First those that have no filters to be put aside. */
	asked.suspends = false;
	bool is_settled = ask_threads(t, h, &asked, &call);
	asked.suspends = t->suspends;
	if (!is_settled && t->suspends)
		(void)ask_threads(t, h, &asked, &call);
	if (t->pid)
		t->why = NULL;
	return t->pid != 0;
}

static bool await_birth(struct halt_thread *child)
{
	int status;

	if (!halt_await(child, &status))
		return false;
	halt_take(child, status);
	return true;
}

/* Where memory runs out, the copy is what has to go. */
static void offer(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	close(fd);
}

void twin_settle(struct twin *t)
{
	const struct registers_call call = {TWIN_CLOSE_RANGE, {0, UINT32_MAX, TWIN_CLOSE_UNSHARE}};
	const struct inject_target self = {.pid = t->pid,
					   .gate = t->gate,
					   .filters = t->filters,
					   .suspends = t->suspends,
					   .is_ours = true};
	struct halt_thread child = {.tid = t->pid};

	offer(t->pid);
	if (await_birth(&child))
		(void)inject_run(&self, &child, &call);
}

bool twin_is_alive(const struct twin *t)
{
	siginfo_t info = {0};
	int flags = WEXITED | WNOHANG | WNOWAIT | __WALL;

	return t->pid && waitid(P_PID, (id_t)t->pid, &info, flags) == 0 &&
	       (info.si_pid == 0 || info.si_code == CLD_TRAPPED);
}

void twin_end(struct twin *t)
{
	pid_t got;
	int status;

	if (!t->pid)
		return;
	(void)kill(t->pid, SIGKILL);
	/* It may yet have a stop to tell of. */
	do
		got = waitpid(t->pid, &status, __WALL);
	while (got < 0 ? errno == EINTR : WIFSTOPPED(status));
	t->dead = t->pid;
	t->dead_name = t->name;
	t->since_ns = clock_monotonic_ns();
	t->next_try_ns = 0;
	t->pid = 0;
}

/* ---- its burial ------------------------------------------------------------------------------ */

/* Whether a process is a zombie of this parent's. */
static bool is_left(pid_t pid, pid_t parent)
{
	struct state state = read_state(pid);

	return state.is_unknown || (state.letter == 'Z' && state.parent == parent);
}

enum mood { GLAD, WILLING, UNWILLING };

/* System calls that a stop does no harm to, and those whose time limit begins anew (resume.h); of
 * others it may depend. */
static enum mood judge_call(long number)
{
	static const long continued[] = {
		SYS_futex,  SYS_nanosleep,     SYS_clock_nanosleep, SYS_wait4,
		SYS_waitid, SYS_rt_sigsuspend, SYS_ppoll,	    SYS_pselect6,
#ifdef SYS_poll
		SYS_poll,   SYS_select,	       SYS_pause,
#endif
	};
	static const long ended[] = {
		SYS_epoll_pwait, SYS_rt_sigtimedwait, SYS_semtimedop, SYS_io_getevents, SYS_semop,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
	};

	for (size_t i = 0; i < sizeof(continued) / sizeof(continued[0]); i++)
		if (continued[i] == number)
			return GLAD;
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		if (ended[i] == number)
			return UNWILLING;
	return WILLING;
}

static enum mood judge(pid_t pid, pid_t tid)
{
	char path[80], text[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	FILE *file = fopen(path, "re");
	bool known = file && fgets(text, sizeof(text), file);
	if (file)
		(void)fclose(file);
	if (!known)
		return UNWILLING;
	enum mood mood = begins(text, "running") ? GLAD : judge_call(strtol(text, NULL, 10));
	/* While it is traced, others would be woken by signals that nobody wants: see halt.c. */
	return mood == GLAD && halt_is_told(pid, tid) ? WILLING : mood;
}

/* The next one behind `tried`, which could not the last time: one that does not mind, or when there
 * was none for long, any. 0: there is none behind it. */
static pid_t choose(pid_t pid, pid_t tried, bool is_choosy)
{
	pid_t tids[3] = {0}; /* one for each mood */
	char path[64];
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && !tids[GLAD] && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > tried && (tid == pid || !halt_is_worker(tid)))
			tids[is_choosy ? judge(pid, tid) : GLAD] = tid;
	}
	if (tasks)
		(void)closedir(tasks);
	return tids[GLAD] ? tids[GLAD] : tids[WILLING];
}

/* True: the thread has waited for the dead one, or said that there is none. */
static bool have_it_wait(struct twin *t, pid_t target, pid_t tid)
{
	const struct registers_call call = {
		SYS_wait4,
		{(uint64_t)t->dead_name, 0, (uint64_t)(unsigned)(__WCLONE | WNOHANG), 0}};
	struct regions regions = {0};
	struct error ignored = {0};
	struct inject_answer answer = {0};

	bool suspends = !filters_are(tid, 0) && can_suspend(t);
	/* By now it may be another program, but it does not become one while it is stopped. */
	if (halt_one(&t->halt, tid) && regions_read(&regions, target, &ignored) == 0) {
		struct halt_thread *thread = &t->halt.threads.at[t->halt.threads.count - 1];
		struct inject_target asked = choose_way(t, &regions, target, t->way.call);

		asked.suspends = suspends;
		if (inject_is_able(&asked, thread))
			answer = inject_run(&asked, thread, &call);
	}
	halt_end(&t->halt);
	(void)halt_settle(&t->halt);
	regions_fini(&regions);
	return answer.is_done && (answer.value == t->dead_name || answer.value == -ECHILD);
}

bool twin_bury(struct twin *t, pid_t target)
{
	uint64_t now = clock_monotonic_ns();

	(void)halt_settle(&t->halt);
	if (t->dead && !is_left(t->dead, t->is_sibling ? t->undertaker : target))
		t->dead = 0;
	if (!twin_is_unburied(t) || now < t->next_try_ns || t->dead_name <= 0)
		return !t->dead;
	t->next_try_ns = now + TRY_NS;
	pid_t tid = choose(target, t->tried, now - t->since_ns <= CHOOSY_NS);

	t->tried = 0; /* behind the last one comes the first */
	if (!tid)
		return false;
	if (have_it_wait(t, target, tid)) {
		t->dead = 0;
	} else {
		t->tried = tid;
		t->next_try_ns = now + AGAIN_NS;
	}
	return !t->dead;
}

void twin_bury_last(struct twin *t, pid_t target)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t end = clock_monotonic_ns() + LAST_NS;

	while (!twin_bury(t, target) && twin_is_unburied(t) && clock_monotonic_ns() < end) {
		t->since_ns = 0; /* there is no time to be choosy */
		(void)nanosleep(&nap, NULL);
	}
}

bool twin_is_unburied(const struct twin *t)
{
	return t->dead && !t->is_sibling;
}

void twin_fini(struct twin *t)
{
	twin_end(t);
	halt_fini(&t->halt);
}
