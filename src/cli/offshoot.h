/* offshoot.h -- a copy of the collector that hands out the profile so far, while the collector goes
 * on. Runs: in a collector process, and in the copy.
 * SPDX-License-Identifier: Apache-2.0
 *
 * fork() freezes all figures at once; building a profile from them and sending it takes the
 * collector no time. There is one copy at a time. */
#ifndef MIDDEN_CLI_OFFSHOOT_H
#define MIDDEN_CLI_OFFSHOOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "profile/profile.h"

/* Zero-initialise. */
struct offshoot {
	pid_t pid; /* of the copy; 0: there is none */
};

/* What the copy does. */
struct offshoot_task {
	struct profile *(*build)(void *context); /* called in the copy alone */
	void *context;
	int connection; /* the only descriptor that the copy keeps, as OFFSHOOT_CONNECTION */
	/* Sends the end of a pipe that the profile comes out of. False: nobody wants it. */
	bool (*announce)(void *context, int connection, int pipe);
};

#define OFFSHOOT_CONNECTION 3
#define OFFSHOOT_SECONDS    60 /* a copy's life: whoever asked may have stopped reading */

/* In a copy: closes what it has of the collector's descriptors, from this one on. The recorder
 * waits until nobody can write its report any more, and askers until nobody listens. */
void offshoot_close_from(int first);

/* Whether the copy is still at work; it is reaped here. */
bool offshoot_is_busy(struct offshoot *o);

/* False: there is one already, or there can be none. The caller keeps its connection. */
bool offshoot_start(struct offshoot *o, const struct offshoot_task *task);

#endif
