/* twin.h -- a copy of the target as it is at one moment, which is read while the target goes on.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One of the target's stopped threads is made to do a fork without its signal (see inject.h). The
 * kernel copies page tables, not pages. The copy is born stopped and never runs a line of the
 * program's; it gives up the descriptors, and dies with the collector.
 *
 * If the target is a child of `midden record`, so is the copy, and nothing of it is the target's.
 * Otherwise it is the target's child, of the kind that clone() makes: its waits do not see it. When
 * it is dead, a thread of the target is made to wait for it, so that it does not stay as a
 * zombie. */
#ifndef MIDDEN_COLLECT_TWIN_H
#define MIDDEN_COLLECT_TWIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/halt.h"
#include "collect/regions.h"
#include "format/comeback.h"

/* The first and last call that a copy makes itself: it has no descriptors any more. */
#define TWIN_CLOSE_RANGE   436 /* its number everywhere; Linux 5.9 */
#define TWIN_CLOSE_UNSHARE 2u

enum twin_kind { TWIN_CHILD, TWIN_SIBLING };

/* What became of the calls that make one under the filters that we have ourselves. */
enum twin_trial { TWIN_UNTRIED, TWIN_DONE, TWIN_REFUSED };

/* Zero-initialise. */
struct twin {
	pid_t pid;	     /* of the copy; 0: there is none */
	pid_t name;	     /* the same as the target calls it */
	uint64_t gate;	     /* see struct inject_target */
	struct comeback way; /* in the target, as it says; to be filled in before */
	struct region code;  /* where that is mapped */
	struct region room;
	const char *why;   /* there is none: the reason, as far as it is known; NULL */
	pid_t undertaker;  /* waits for every child it has; 0: there is nobody. To be filled in */
	bool is_sibling;   /* that one is the parent of the copy */
	bool only_sibling; /* or there is to be none. To be filled in */
	bool needs_leave;  /* there is none for that */
	enum twin_trial trials[2];  /* by kind */
	uint32_t filters;	    /* of system calls, that a thread may be under */
	enum twin_trial suspension; /* of others */
	bool suspends;		    /* they are put aside */
	pid_t dead;		    /* one that its parent has not waited for yet; 0 none */
	pid_t dead_name;	    /* as the target calls it */
	uint64_t since_ns;	    /* when it died */
	uint64_t next_try_ns;	    /* to have it waited for */
	pid_t tried;		    /* the thread that could not, the last time */
	struct halt halt;	    /* the thread that does */
};

/* What can be found out while the target runs: whether its parent is one who waits for copies, and
 * what filters of system calls say to one. `regions` are as of now. False: by all that can be seen
 * there will be no copy, as when the last one is not buried yet. */
bool twin_prepare(struct twin *t, const struct regions *regions, pid_t target);

/* Makes a copy of a target whose threads are all stopped. False: it cannot be had, and nothing has
 * changed. */
bool twin_make(struct twin *t, struct halt *h, const struct regions *regions, pid_t target);

/* Takes from the copy what it shares with the target, which may go on already. */
void twin_settle(struct twin *t);

/* Whether it is still there: the kernel may have had to kill somebody. */
bool twin_is_alive(const struct twin *t);

/* Ends the copy. What is left of it is for twin_bury. */
void twin_end(struct twin *t);

/* Has the target wait for a dead copy, if it is its parent. True: there is none, or none any more.
 * Call it now and then until then. */
bool twin_bury(struct twin *t, pid_t target);

/* The same for the last time, and for as long as it takes, which is some seconds at most. */
void twin_bury_last(struct twin *t, pid_t target);

/* Whether there is one that the target has to be made to wait for. */
bool twin_is_unburied(const struct twin *t);

void twin_fini(struct twin *t);

#endif
