/* resume.h -- waits of the target that a stop would end, and which go on nevertheless.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After a stop most system calls go on as if nothing had been. Some come to an end with EINTR,
 * though no handler has run (signal(7)): epoll_wait, sigtimedwait, semop, calls on sockets that
 * have a time limit. The kernel is told to do with them what it does with select: to begin them
 * again, unless there is a signal to handle, for which they end with EINTR as ever.
 *
 * A time limit begins anew then. So that looks which follow each other do not make a wait endless,
 * it is remembered when the first one fell into it; from when that is as long ago as the limit,
 * the wait ends as one whose time is over. It takes twice its time at most. What the thread has not
 * slept through does not count: it may have come back from the wait, and be in another one.
 *
 * On x86_64 all that is needed for this is in the registers. On aarch64 the first argument is gone
 * when the thread has stopped, and the kernel has decided that the call is over. So what the thread
 * waits in is read before it is asked to stop; it is set back to the begin of the call unless a
 * signal to be handled is there. */
#ifndef MIDDEN_COLLECT_RESUME_H
#define MIDDEN_COLLECT_RESUME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/registers.h"

struct halt_thread;

/* As many as a target can have threads. Numbers of threads follow each other: none but a program
 * that makes and ends very many has two in one place. */
#define RESUME_SLOTS 65536u

/* What a thread has done so far. */
struct resume_past {
	uint64_t sleeps;   /* how often it went to sleep, the stop that it is in included; 0: not
			      known */
	uint64_t awake_ns; /* how long it has run, or waited for its turn */
};

/* A wait with a time limit that was begun again. */
struct resume_wait {
	pid_t tid;		 /* 0: none */
	struct resume_past past; /* of the thread, until it was let go */
	uint64_t since_ns;
};

/* Zero-initialise. */
struct resume {
	struct resume_wait waits[RESUME_SLOTS]; /* by thread; of two in one place the last */
};

/* What a thread was found to wait in before it was asked to stop. Zero-initialise. */
struct resume_seen {
	bool is_known;
	struct registers_ended call;
	uint64_t sleeps; /* of the thread until then */
};

/* To be called right before a thread is asked to stop. */
void resume_see(struct resume_seen *seen, pid_t tid);

struct resume_past resume_read_past(pid_t tid);

/* Has the call of a thread that is about to be let go continue, if it is one that would not. */
void resume_call(struct resume *r, const struct halt_thread *t);

#endif
