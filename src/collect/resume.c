/* resume.c -- waits of the target that a stop would end, and which go on nevertheless.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/resume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "collect/halt.h"
#include "collect/target_read.h"
#include "format/clock.h"

#define RING_ENTER   426 /* their numbers everywhere; Linux 5.1 to 5.11 */
#define PIDFD_OPEN   434
#define PIDFD_GETFD  438
#define EPOLL_PWAIT2 441
#define RING_TIMED   8u	 /* IORING_ENTER_EXT_ARG */
#define RING_TIME    16u /* in what that points to: the address of a limit */
#define ENDLESS_NS   UINT64_MAX
#define UNKNOWN_NS   0
#define SEEING_MOST  3u
/* A sleep in the call that was begun again, unless it comes to none, and the next stop. */
#define SLEEPS_BETWEEN 2u

struct status {
	pid_t pid;
	uint64_t sleeps;
	uint64_t pending, caught; /* signals, the first one in the lowest bit */
};

static struct status read_status(pid_t tid)
{
	struct status s = {0};
	char path[64], line[256], name[32];
	uint64_t number, bits;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31[^:]: %" SCNu64, name, &number) != 2)
			number = 0;
		if (sscanf(line, "%31[^:]: %" SCNx64, name, &bits) != 2)
			continue;
		if (strcmp(name, "voluntary_ctxt_switches") == 0)
			s.sleeps = number;
		else if (strcmp(name, "Tgid") == 0)
			s.pid = (pid_t)number;
		else if (strcmp(name, "SigPnd") == 0 || strcmp(name, "ShdPnd") == 0)
			s.pending |= bits;
		else if (strcmp(name, "SigCgt") == 0)
			s.caught = bits;
	}
	if (file)
		(void)fclose(file);
	return s;
}

/* 0 where the kernel does not count it. */
static uint64_t read_awake_ns(pid_t tid)
{
	char path[64];
	uint64_t ran, waited, sum = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2)
		sum = ran + waited;
	if (file)
		(void)fclose(file);
	return sum;
}

static uint64_t count_sleeps(pid_t tid)
{
	return read_status(tid).sleeps;
}

struct resume_past resume_read_past(pid_t tid)
{
	return (struct resume_past){count_sleeps(tid), read_awake_ns(tid)};
}

/* ---- the calls, and their time limits -------------------------------------------------------- */

enum limit { LIMIT_NONE, LIMIT_MS, LIMIT_TIME, LIMIT_RECEIVE, LIMIT_SEND, LIMIT_RING };

/* None of them has done anything yet when it ends with EINTR. */
struct waiting_call {
	long number;
	enum limit limit;
	unsigned argument; /* which has it, or its address */
	int64_t overdue;   /* what the call returns when its time is over */
};

static const struct waiting_call calls[] = {
	{SYS_epoll_pwait, LIMIT_MS, 3, 0},
	{EPOLL_PWAIT2, LIMIT_TIME, 3, 0},
	{SYS_rt_sigtimedwait, LIMIT_TIME, 2, -EAGAIN},
	{SYS_semop, LIMIT_NONE, 0, 0},
	{SYS_semtimedop, LIMIT_TIME, 3, -EAGAIN},
	{SYS_io_getevents, LIMIT_TIME, 4, 0},
	{SYS_read, LIMIT_RECEIVE, 0, -EAGAIN}, /* of sockets, and of inotify, which has no limit */
	{SYS_readv, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_recvfrom, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_recvmsg, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_recvmmsg, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_accept, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_accept4, LIMIT_RECEIVE, 0, -EAGAIN},
	{SYS_write, LIMIT_SEND, 0, -EAGAIN},
	{SYS_writev, LIMIT_SEND, 0, -EAGAIN},
	{SYS_sendto, LIMIT_SEND, 0, -EAGAIN},
	{SYS_sendmsg, LIMIT_SEND, 0, -EAGAIN},
	{SYS_sendmmsg, LIMIT_SEND, 0, -EAGAIN},
	{SYS_connect, LIMIT_SEND, 0, -EINPROGRESS}, /* but see find_overdue */
	{RING_ENTER, LIMIT_RING, 4, -ETIME},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, LIMIT_MS, 3, 0},
#endif
};

static const struct waiting_call *find_call(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

static uint64_t add_up(int64_t seconds, int64_t ns)
{
	const int64_t most = INT64_MAX / 1000000000 - 1;

	if (seconds < 0 || ns < 0 || seconds > most)
		return ENDLESS_NS;
	return (uint64_t)seconds * 1000000000u + (uint64_t)ns;
}

static uint64_t read_time(pid_t pid, uint64_t address)
{
	struct timespec t;

	if (!address)
		return ENDLESS_NS;
	return target_read(pid, address, &t, sizeof(t)) ? add_up(t.tv_sec, t.tv_nsec) : UNKNOWN_NS;
}

static uint64_t read_ring_limit(pid_t pid, const uint64_t *arguments)
{
	uint64_t address;

	if (!(arguments[3] & RING_TIMED))
		return ENDLESS_NS;
	if (!target_read(pid, arguments[4] + RING_TIME, &address, sizeof(address)))
		return UNKNOWN_NS;
	return read_time(pid, address);
}

/* A descriptor of the target's, or -1. */
static int copy_descriptor(pid_t tid, int number)
{
	int process = (int)syscall(PIDFD_OPEN, read_status(tid).pid, 0);
	int fd = process < 0 ? -1 : (int)syscall(PIDFD_GETFD, process, number, 0);

	if (process >= 0)
		(void)close(process);
	return fd;
}

/* Other files are not to be touched: closing one may need the target, which is stopped. */
static bool is_socket(pid_t tid, int number)
{
	static const char socket[] = "socket:[";
	char path[64], name[sizeof(socket) - 1];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, number);
	return readlink(path, name, sizeof(name)) == (ssize_t)sizeof(name) &&
	       memcmp(name, socket, sizeof(name)) == 0;
}

static uint64_t read_option(int fd, int option)
{
	struct timeval t = {0};
	socklen_t bytes = sizeof(t);

	if (getsockopt(fd, SOL_SOCKET, option, &t, &bytes) != 0)
		return UNKNOWN_NS;
	bool is_none = t.tv_sec == 0 && t.tv_usec == 0;
	return is_none ? ENDLESS_NS : add_up(t.tv_sec, t.tv_usec * 1000);
}

static uint64_t read_socket_limit(pid_t tid, int number, int option)
{
	if (!is_socket(tid, number))
		return ENDLESS_NS;
	int fd = copy_descriptor(tid, number);
	uint64_t limit = fd < 0 ? UNKNOWN_NS : read_option(fd, option);

	if (fd >= 0)
		(void)close(fd);
	return limit;
}

/* Between processes a connection is there or not; others are still under way. */
static bool is_local(pid_t tid, int number)
{
	int domain = AF_UNSPEC;
	socklen_t bytes = sizeof(domain);
	int fd = is_socket(tid, number) ? copy_descriptor(tid, number) : -1;

	if (fd < 0)
		return false;
	(void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes);
	(void)close(fd);
	return domain == AF_UNIX;
}

static int64_t find_overdue(const struct waiting_call *call, pid_t tid, const uint64_t *arguments)
{
	if (call->number == SYS_connect && is_local(tid, (int)arguments[0]))
		return -EAGAIN;
	return call->overdue;
}

static uint64_t find_limit(const struct waiting_call *call, pid_t tid, const uint64_t *arguments)
{
	uint64_t value = arguments[call->argument];
	int ms = (int)value;

	switch (call->limit) {
	case LIMIT_MS:
		return ms < 0 ? ENDLESS_NS : add_up(ms / 1000, ms % 1000 * INT64_C(1000000));
	case LIMIT_RING:
		return read_ring_limit(tid, arguments);
	case LIMIT_TIME:
		return read_time(tid, value);
	case LIMIT_RECEIVE:
		return read_socket_limit(tid, (int)value, SO_RCVTIMEO);
	case LIMIT_SEND:
		return read_socket_limit(tid, (int)value, SO_SNDTIMEO);
	default:
		return ENDLESS_NS;
	}
}

/* ---- what is to become of one ---------------------------------------------------------------- */

/* Since when we have been in the way of the wait that a thread is in; 0: we have not. */
static uint64_t find_since(const struct resume_wait *before, pid_t tid,
			   const struct resume_past *past)
{
	uint64_t sleeps = past->sleeps - before->past.sleeps;
	uint64_t awake_from = before->past.awake_ns, awake_to = past->awake_ns;

	if (!past->sleeps || before->tid != tid || sleeps > SLEEPS_BETWEEN)
		return 0;
	return before->since_ns + (awake_from && awake_to ? awake_to - awake_from : 0);
}

static struct resume_wait *get_wait(struct resume *r, pid_t tid)
{
	return &r->waits[(unsigned)tid % RESUME_SLOTS];
}

/* A thread that was met awake may be on its way to the wait yet, as if there had been no stop. */
static void carry_on(struct resume *r, const struct halt_thread *t)
{
	struct resume_wait *wait = get_wait(r, t->tid);

	if (wait->tid != t->tid)
		return;
	const struct resume_past now = resume_read_past(t->tid);
	const struct resume_past *past = t->past.sleeps ? &t->past : &now;
	if (past->sleeps == wait->past.sleeps + 1) {
		wait->past.sleeps = now.sleeps;
		wait->past.awake_ns += now.awake_ns - past->awake_ns;
	}
}

static int64_t judge(struct resume *r, const struct halt_thread *t, const struct registers_ended *e)
{
	const struct waiting_call *call = find_call(e->number);

	if (!call)
		return -EINTR;
	uint64_t limit = find_limit(call, t->tid, e->arguments);
	if (limit == ENDLESS_NS)
		return REGISTERS_AGAIN;
	struct resume_wait *wait = get_wait(r, t->tid);
	const struct resume_past past = resume_read_past(t->tid);
	uint64_t since = find_since(wait, t->tid, t->past.sleeps ? &t->past : &past);
	uint64_t now = clock_monotonic_ns();
	/* Of an unknown limit nobody can tell whether it is over. */
	if (limit == UNKNOWN_NS && since)
		return -EINTR;
	if (limit != UNKNOWN_NS && since && now >= since + limit)
		return find_overdue(call, t->tid, e->arguments);
	*wait = (struct resume_wait){t->tid, past, since ? since : now};
	return REGISTERS_AGAIN;
}

/* ---- what a thread waits in ------------------------------------------------------------------ */

/* The file is empty of numbers while the thread runs. */
static bool read_call(struct resume_seen *seen, pid_t tid)
{
	char path[64], text[256] = "";
	uint64_t *a = seen->call.arguments;

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(text, sizeof(text), file);
	if (file)
		(void)fclose(file);
	return is_read && sscanf(text,
				 "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
				 " %" SCNx64 " %" SCNx64 " %" SCNx64,
				 &seen->call.number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5],
				 &seen->call.sp, &seen->call.pc) == 9;
}

void resume_see(struct resume_seen *seen, pid_t tid)
{
	if (registers_hold_call())
		return;
	/* One that was just about to sleep has done so by the second time. */
	for (unsigned i = 0; i < SEEING_MOST && !seen->is_known; i++) {
		seen->sleeps = count_sleeps(tid);
		if (!read_call(seen, tid) || !find_call(seen->call.number))
			return;
		seen->is_known = count_sleeps(tid) == seen->sleeps;
	}
}

/* It was asleep in the call that was seen, and has not slept since but for our stop. All else that
 * it could have done is to be woken in this very moment, to come back to this place of the program
 * before we stopped it, and to make the call with another first argument and the same others. */
static const struct registers_ended *find_seen(const struct halt_thread *t)
{
	const struct resume_seen *seen = &t->seen;

	if (!seen->is_known)
		return NULL;
	uint64_t sleeps = t->past.sleeps ? t->past.sleeps : count_sleeps(t->tid);
	return sleeps == seen->sleeps + 1 ? &seen->call : NULL;
}

/* ---- a thread that goes on ------------------------------------------------------------------- */

static uint64_t get_bit(int signal)
{
	return signal ? UINT64_C(1) << (signal - 1) : 0;
}

/* Whether a handler is to run when the thread goes on: the call ends for that. */
static bool is_interrupted(const struct halt_thread *t, uint64_t mask)
{
	struct status now = read_status(t->tid);

	return !now.pid || now.caught & ((now.pending & ~mask) | get_bit(t->signal));
}

/* A handler that the program lets in only while it waits finds the mask of before: its signal is
 * held back until the call has begun. One that is let in at any time may run before it, as it may
 * in every program. */
static void set_back(const struct halt_thread *t, struct registers_set *s,
		     const struct registers_ended *call)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) != 0 ||
	    is_interrupted(t, mask) || ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask) != 0)
		return;
	registers_rewind(s);
	registers_set_result(s, (int64_t)call->arguments[0]);
	(void)registers_load(t->tid, s);
}

void resume_call(struct resume *r, const struct halt_thread *t)
{
	struct registers_set s;
	struct registers_ended ended;

	if (!registers_save(t->tid, &s) || !registers_find_ended(&s, find_seen(t), &ended)) {
		carry_on(r, t);
		return;
	}
	int64_t result = judge(r, t, &ended);
	if (result == REGISTERS_AGAIN && !registers_hold_call()) {
		set_back(t, &s, &ended);
	} else if (result != -EINTR) {
		registers_set_result(&s, result);
		(void)registers_load(t->tid, &s);
	}
}
