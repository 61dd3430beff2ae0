/* inject.h -- one system call, made by a stopped thread of the target on our behalf.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thread runs one instruction for us and has all registers and its mask of signals back then.
 * One that we stopped inside a system call of its own first begins that again, as the kernel has
 * it after every stop; ours is done in its place, and it begins its own once more. So all that
 * the kernel knows of it (how long it has slept, what a signal would make of it) is as ever. A
 * signal that comes meanwhile waits.
 *
 * As long as the thread has registers that are not its own it could not go on without us. So it
 * makes the call by an instruction behind which it finds the way back by itself, should the
 * collector be killed in that moment (format/comeback.h). On aarch64, a thread in a call of its own
 * is led to the begin of it with signals held back, before and afterwards, which takes some
 * microseconds: in these, and where the target has no such code, the kernel is told to kill the
 * target with the collector (PTRACE_O_EXITKILL).
 *
 * Filters of system calls that the thread has for itself do not count for the call, where the
 * kernel lets us say so (PTRACE_O_SUSPEND_SECCOMP): from before it begins to its end, and not for
 * what the thread does then. Should the collector be killed, they count again at once. */
#ifndef MIDDEN_COLLECT_INJECT_H
#define MIDDEN_COLLECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/halt.h"
#include "collect/regions.h"
#include "collect/registers.h"

/* Whose thread does it. */
struct inject_target {
	pid_t pid;
	uint64_t gate;	  /* an instruction that makes a system call */
	uint64_t code;	  /* such a one with a way back behind it; 0: there is none */
	uint64_t room;	  /* of that */
	uint32_t filters; /* of system calls that a thread may be under: see filters.h */
	bool suspends;	  /* others are put aside for the call */
	bool is_ours;	  /* not the target itself: it may die with us at any time */
};

struct inject_answer {
	bool is_done;
	int64_t value; /* as the kernel gives it: negative for an error */
	pid_t born;    /* by clone: stopped, ours to trace; 0 none */
};

/* Looks for such an instruction in the target's code. 0: there is none that can be read. */
uint64_t inject_find_gate(const struct regions *regions, pid_t pid);

/* Whether the thread can be asked: stopped by us and for nothing else, under no filter of system
 * calls but such as are known or put aside, where it may be interrupted for a while. */
bool inject_is_able(const struct inject_target *target, const struct halt_thread *t);

/* Does it. The thread stays stopped, and is not able to do another one. */
struct inject_answer inject_run(const struct inject_target *target, struct halt_thread *t,
				const struct registers_call *call);

#endif
