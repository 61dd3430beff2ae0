/* crew.h -- threads that stand by, for work that must not wait for their birth.
 * Runs: in the collector process; one thread has the crew, and is part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_CREW_H
#define MIDDEN_COLLECT_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CREW_MOST 8u

struct crew;

struct crew_member {
	struct crew *crew;
	uint32_t number;
	pthread_t thread;
};

/* Zero-initialise; not to be moved while it is at work. */
struct crew {
	struct crew_member members[CREW_MOST]; /* the first one is the caller */
	uint32_t count;			       /* 0: nobody was called, the caller works alone */
	pthread_mutex_t lock;		       /* of what follows */
	pthread_cond_t called;
	pthread_cond_t done;
	void (*work)(void *context, uint32_t number);
	void *context;
	uint64_t turn; /* of work, counted */
	bool is_open;  /* it may be begun */
	uint32_t busy; /* members but for the first that have begun and not ended */
	bool is_over;
};

/* Those that this process may run on, and that its control groups let it use, CREW_MOST at most. */
uint32_t crew_count_cores(void);

/* Has one thread for each core stand by, or as many as can be had. They take no signals. */
void crew_call(struct crew *c);

/* How many work at once: 1 and more. */
uint32_t crew_count(const struct crew *c);

/* Does the work on all of them, each with its number from 0, which is the caller. Whoever comes
 * back from it says that nothing is left to begin with: members that get their turn too late, on a
 * busy machine, do not begin. Returns when all have ended. A crew that was not called is the caller
 * alone. */
void crew_work(struct crew *c, void (*work)(void *context, uint32_t number), void *context);

/* Sends them home. */
void crew_dismiss(struct crew *c);

#endif
