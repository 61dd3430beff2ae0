/* halt.h -- the threads of the target, stopped for a moment, and what they have in their registers.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads are stopped through ptrace, without a signal of ours: one that comes meanwhile waits and
 * is delivered afterwards, and a process that was stopped stays so. Should the collector die, the
 * kernel lets all of them go.
 *
 * Threads that the kernel runs in a process on behalf of io_uring are left alone: they have no
 * registers and no stack of the program's, and a stop would end their requests with EINTR. */
#ifndef MIDDEN_COLLECT_HALT_H
#define MIDDEN_COLLECT_HALT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect/resume.h"

#define HALT_WORDS 128u /* general and vector registers of one thread */

enum halt_state {
	HALT_ASKED,   /* to stop, and has not yet */
	HALT_STOPPED, /* by us */
	HALT_DEAD,    /* and still to be waited for, or its parent would not be told */
	HALT_GONE,
};

struct halt_thread {
	pid_t tid;
	enum halt_state state;
	int signal;		 /* that was about to be delivered; 0 none */
	bool is_quiet;		 /* stopped for our asking and nothing else */
	bool is_halted;		 /* together with the whole process, by a signal */
	bool is_told;		 /* of signals first: see halt.c */
	struct resume_past past; /* before it ran on our order; zero: it did not */
	struct resume_seen seen; /* before it was asked */
	uint64_t sp;		 /* of the stack; 0: not known */
	uint64_t pointer;	 /* to its descriptor and thread-local variables; 0: not known */
	uint64_t words[HALT_WORDS];
	uint32_t word_count;
};

/* A thread that is to be asked. */
struct halt_call {
	pid_t tid;
	bool is_told;
};

/* Zero-initialise. */
struct halt {
	VEC(struct halt_thread) threads;
	VEC(struct halt_call) calls;
	uint64_t most_ns;      /* that the first one may be stopped until all go on, if there are
				  some that do not stop. 0: some seconds. To be filled in */
	uint64_t since_ns;     /* when the first one was asked; 0: none was */
	uint64_t asking_ns;    /* that it took to ask them */
	struct resume *resume; /* what becomes of its waits; NULL: they end with EINTR. To be filled
				  in */
};

/* Stops all threads and reads their registers. 0, or -1 with `e`: none is stopped then, but for
 * those that were asked and have not got there, which halt_settle lets go. */
int halt_start(struct halt *h, pid_t pid, struct error *e);

/* How long halt_end will take, and no longer. */
uint64_t halt_get_leaving_ns(const struct halt *h);

/* Stops one thread, if it does at once, and reads nothing. False: it does not; halt_settle lets it
 * go should it be late. */
bool halt_one(struct halt *h, pid_t tid);

/* Whether a thread is one of the kernel's, which works on requests of io_uring. */
bool halt_is_worker(pid_t tid);

/* Whether signals of the process, or of a child's end, arrive at this thread. */
bool halt_is_told(pid_t pid, pid_t tid);

/* What the kernel says next of a thread that runs on our order, however long that takes, as nobody
 * else could go on with it. False: it has died. */
bool halt_await(struct halt_thread *t, int *status);

/* Takes a stop that was not expected for one that we asked for. */
void halt_take(struct halt_thread *t, int status);

/* Lets them go on. Their registers stay known. */
void halt_end(struct halt *h);

/* Waits for who has been killed meanwhile, whose parent hears of it only then; those that are
 * stopped stay so. Nobody is forgotten. Call it now and then when the stop, or the look, is long.
 */
void halt_attend(struct halt *h);

/* Lets go who was asked to stop and did too late, and waits for who has died. True: there is nobody
 * left but dead ones, of which a main thread stays as long as the others live. */
bool halt_settle(struct halt *h);

void halt_fini(struct halt *h);

#endif
