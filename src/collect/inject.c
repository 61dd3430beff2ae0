/* inject.c -- one system call, made by a stopped thread of the target on our behalf.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/inject.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/filters.h"
#include "collect/target_read.h"

#define OPTIONS	      (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)
#define MORTAL	      (OPTIONS | PTRACE_O_EXITKILL)
#define STRAYS_MOST   16u
#define CALL_STOP     (SIGTRAP | 0x80)
#define SIGNALS_BYTES 8u	 /* of a mask, for the kernel */
#define SEARCH_BYTES  (4u << 20) /* of code, for an instruction: the C library has hundreds */
#define BIRTH_NAPS    20u
#define NAP_NS	      1000000L
#define GET_RSEQ      0x420f /* PTRACE_GET_RSEQ_CONFIGURATION, of Linux 5.13 */
#define GET_DISPATCH  0x4211 /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, of Linux 6.4 */

/* As the kernel has them; old headers do not. */
struct rseq_place {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

struct rseq_section {
	uint32_t version, flags;
	uint64_t start, bytes, abort;
};

struct dispatch {
	uint64_t mode, selector, offset, bytes;
};

/* ---- the instruction ------------------------------------------------------------------------- */

static bool is_gate(pid_t pid, uint64_t address)
{
	unsigned char bytes[REGISTERS_GATE_MOST] = {0};

	/* It may be the last one of a page that nothing follows. */
	for (size_t count = sizeof(bytes); count; count /= 2)
		if (target_read(pid, address, bytes, count))
			return registers_find_gate(bytes, count) == 0;
	return false;
}

static uint64_t search(const struct region *region, pid_t pid, uint64_t most)
{
	uint64_t bytes = region->end - region->start < most ? region->end - region->start : most;
	unsigned char *code = mem_new(bytes, 1);
	uint64_t found = target_read(pid, region->start, code, bytes)
				 ? registers_find_gate(code, bytes)
				 : bytes;

	free(code);
	return found < bytes ? region->start + found : 0;
}

uint64_t inject_find_gate(const struct regions *regions, pid_t pid)
{
	uint64_t left = SEARCH_BYTES, found = 0;

	/* The kernel's own page is small, and has some. */
	for (size_t i = regions->list.count; i-- > 0 && !found;)
		if (strcmp(regions_get_name(regions, &regions->list.at[i]), "[vdso]") == 0)
			found = search(&regions->list.at[i], pid, left);
	for (size_t i = 0; i < regions->list.count && !found && left; i++) {
		const struct region *region = &regions->list.at[i];

		if (!region->is_executable || !region->is_readable)
			continue;
		found = search(region, pid, left);
		left -= region->end - region->start < left ? region->end - region->start : left;
	}
	return found;
}

/* ---- who can be asked ------------------------------------------------------------------------ */

/* A filter may kill who makes a call that it does not expect. */
static bool is_filtered(const struct inject_target *target, pid_t tid)
{
	return !filters_are(tid, 0) && !(target->filters && filters_are(tid, target->filters));
}

/* Threads of the kernel's that belong to the process (io_uring, vhost) never come to where they
 * could run something. */
static bool is_nowhere(const struct registers_set *s)
{
	return registers_get_place(s) == 0;
}

/* Its calls come back to it as signals. */
static bool is_dispatched(pid_t tid)
{
	struct dispatch d = {0};

	return ptrace(GET_DISPATCH, tid, sizeof(d), &d) == 0 && d.mode != 0;
}

/* Inside of a restartable sequence the kernel takes our way out of it for the thread's own, and
 * forgets to start it over. Where it does not tell, nobody knows. */
static bool is_in_sequence(const struct inject_target *target, pid_t tid, uint64_t at)
{
	struct rseq_place place = {0};
	struct rseq_section section;
	uint64_t current;

	if (ptrace(GET_RSEQ, tid, sizeof(place), &place) <= 0)
		return true;
	if (!place.pointer)
		return false;
	if (!target_read(target->pid, place.pointer + 8, &current, sizeof(current)))
		return true;
	if (!current)
		return false;
	return !target_read(target->pid, current, &section, sizeof(section)) ||
	       at - section.start < section.bytes;
}

static bool makes_call_again(const struct inject_target *target, const struct registers_set *s)
{
	struct registers_again again = registers_find_again(s);

	return again.address && is_gate(target->pid, again.address);
}

/* It can make the call beside its own work, without a trace of it. */
static bool is_free(const struct inject_target *target, pid_t tid, const struct registers_set *s)
{
	return !registers_find_again(s).is_certain && !registers_are_scalable(tid) &&
	       !is_in_sequence(target, tid, registers_get_place(s));
}

bool inject_is_able(const struct inject_target *target, const struct halt_thread *t)
{
	struct registers_set s;

	return t->state == HALT_STOPPED && t->is_quiet && target->gate &&
	       registers_save(t->tid, &s) && registers_is_native(&s) && !is_nowhere(&s) &&
	       (makes_call_again(target, &s) || is_free(target, t->tid, &s)) &&
	       (target->suspends || !is_filtered(target, t->tid)) && !is_dispatched(t->tid);
}

/* ---- doing it -------------------------------------------------------------------------------- */

struct injection {
	const struct inject_target *target;
	struct halt_thread *thread;
	const struct registers_call *call;
	struct inject_answer answer;
	uint64_t signals; /* that the thread holds back */
	bool suspends;	  /* its filters are put aside */
};

static bool is_call_stop(int status)
{
	return status >> 16 == 0 && WSTOPSIG(status) == CALL_STOP;
}

/* On to the next stop, whichever that is. False: it has died. */
static bool step(struct injection *j, int signal, int *status)
{
	if (ptrace(PTRACE_SYSCALL, j->thread->tid, 0, (void *)(uintptr_t)signal) == 0) /* NOLINT */
		return halt_await(j->thread, status);
	j->thread->state = HALT_DEAD; /* killed meanwhile */
	return false;
}

/* On to the begin of its call, past stops that SIGSTOP and SIGCONT make, which nothing holds
 * back: a signal in front of the call would not end it. False: it has died, or is not there yet. */
static bool step_to_call(struct injection *j)
{
	int status;

	for (unsigned i = 0; i < STRAYS_MOST; i++) {
		if (!step(j, j->thread->signal, &status))
			return false;
		j->thread->signal = 0;
		if (is_call_stop(status))
			return true;
		halt_take(j->thread, status);
	}
	return false;
}

static bool is_thread_of(pid_t tid, pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

/* The child of a thread that was killed before it could tell of it, if it has one: that stops as it
 * begins, and nobody else knows of it. */
static pid_t find_born(const struct injection *j)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	for (unsigned i = 0; i < BIRTH_NAPS && j->call->number == SYS_clone; i++) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		    info.si_pid && !is_thread_of(info.si_pid, j->target->pid))
			return info.si_pid;
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}

/* From the begin of a call to its end. False: the thread has died. */
static bool finish_call(struct injection *j)
{
	struct registers_set end;
	unsigned long born = 0;
	int status;

	if (!step(j, 0, &status)) {
		j->answer.born = find_born(j);
		return false;
	}
	if (status >> 16 == PTRACE_EVENT_CLONE) {
		bool is_told = ptrace(PTRACE_GETEVENTMSG, j->thread->tid, 0, &born) == 0;

		j->answer.born = is_told ? (pid_t)born : find_born(j);
		if (!step(j, 0, &status))
			return false;
	}
	j->answer.is_done = is_call_stop(status) && registers_save(j->thread->tid, &end);
	if (j->answer.is_done)
		j->answer.value = registers_get_result(&end);
	return true;
}

static bool set_options(const struct injection *j, uintptr_t options)
{
	if (j->suspends)
		options |= FILTERS_SUSPEND;
	return ptrace(PTRACE_SETOPTIONS, j->thread->tid, 0, (void *)options) == 0; /* NOLINT */
}

/* Signals wait until it is as it was. */
static bool hold(const struct injection *j)
{
	/* A SIGSYS that the kernel forces and finds held back would take its handler away. */
	uint64_t all = ~(UINT64_C(1) << (SIGSYS - 1));

	return ptrace(PTRACE_SETSIGMASK, j->thread->tid, SIGNALS_BYTES, &all) == 0;
}

static void release(const struct injection *j)
{
	uint64_t own = j->signals;

	(void)ptrace(PTRACE_SETSIGMASK, j->thread->tid, SIGNALS_BYTES, &own);
}

static bool has_way_back(const struct inject_target *target)
{
	return !target->is_ours && target->code && target->room;
}

/* For the case that we are killed: to there the thread gets by itself. */
static bool open_way_back(const struct injection *j, const struct registers_set *to)
{
	unsigned char room[COMEBACK_BYTES];
	struct iovec local = {.iov_base = room, .iov_len = sizeof(room)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)j->target->room, /* NOLINT */
			       .iov_len = sizeof(room)};

	bool built = registers_build_comeback(j->thread->tid, to, j->signals, room);
	/* Its filters may forbid it to wait for the child. */
	memcpy(room + COMEBACK_ALONE, &(uint64_t){j->suspends}, sizeof(uint64_t));
	return built &&
	       process_vm_writev(j->target->pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(room);
}

/* Stops it where the kernel decides whether a call is begun again, before it has run a line. */
static bool stop_again(struct injection *j)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, j->thread->tid, 0, 0) != 0 || !step(j, 0, &status))
		return false;
	halt_take(j->thread, status);
	return true;
}

/* The mask first: from the way back it would get both. */
static void put_back(struct injection *j, const struct registers_set *own)
{
	if (registers_hold_call() && has_way_back(j->target) && !stop_again(j))
		return;
	release(j);
	(void)registers_restore(j->thread->tid, own);
}

/* It was interrupted in no system call, or all of that is in its registers. */
static void run_beside(struct injection *j, const struct registers_set *own)
{
	bool has_way = has_way_back(j->target);
	struct registers_set other = *own, begun = registers_begin_again(own);
	int status;

	if (has_way && !open_way_back(j, &begun))
		return;
	registers_aim(&other, has_way ? j->target->code : j->target->gate, j->call);
	if (!set_options(j, has_way ? OPTIONS : MORTAL) ||
	    !registers_load(j->thread->tid, &other) || !hold(j) || !step(j, 0, &status))
		return;
	if (is_call_stop(status)) {
		if (finish_call(j))
			put_back(j, own);
		return;
	}
	/* Stopped by somebody else before it got there, or the call was sent back to it. */
	halt_take(j->thread, status);
	if (j->thread->signal == SIGSYS)
		j->thread->signal = 0;
	release(j);
	(void)registers_load(j->thread->tid, own);
}

/* It makes a call of its own again. */
static void run_inside(struct injection *j)
{
	struct registers_set own, begun;
	bool has_way = has_way_back(j->target);

	if (!set_options(j, MORTAL) || !hold(j) || !step_to_call(j) ||
	    !registers_save(j->thread->tid, &own))
		return;
	begun = own;
	registers_rewind(&begun);
	if ((has_way && !open_way_back(j, &begun)) ||
	    !registers_swap(j->thread->tid, &own, j->call, has_way ? j->target->code : 0))
		return;
	if (has_way)
		(void)set_options(j, OPTIONS);
	if (!finish_call(j))
		return;
	j->suspends = false; /* its own call is its filters' business */
	(void)set_options(j, MORTAL);
	if (registers_restore(j->thread->tid, &begun))
		(void)step_to_call(j);
}

struct inject_answer inject_run(const struct inject_target *target, struct halt_thread *t,
				const struct registers_call *call)
{
	struct injection j = {.target = target, .thread = t, .call = call};
	struct registers_set s;

	if (!registers_save(t->tid, &s) ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, SIGNALS_BYTES, &j.signals) != 0)
		return j.answer;
	j.suspends = target->suspends && is_filtered(target, t->tid);
	t->is_quiet = false;
	if (!target->is_ours)
		t->past = resume_read_past(t->tid);
	if (!target->is_ours && !(registers_hold_call() && has_way_back(target)) &&
	    makes_call_again(target, &s))
		run_inside(&j);
	else
		run_beside(&j, &s);
	if (t->state != HALT_STOPPED)
		return j.answer;
	release(&j);
	j.suspends = false;
	if (!target->is_ours)
		(void)set_options(&j, 0);
	return j.answer;
}
