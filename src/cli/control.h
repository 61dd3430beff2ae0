/* control.h -- how a running recording is asked from outside: a socket that is known by the
 * process it records. Runs: in the collector, and in the command that asks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The socket is in the abstract name space: nothing is left behind, and nobody has to agree on a
 * directory. Anybody can take such a name and anybody can connect, so both ends look at who the
 * other is. */
#ifndef MIDDEN_CLI_CONTROL_H
#define MIDDEN_CLI_CONTROL_H

#include <sys/types.h>

#include <limits.h>

#include "base/error.h"
#include "cli/offshoot.h"
#include "cli/surveying.h"
#include "collect/collect.h"

#define CONTROL_NAME "midden-recording-" /* of the socket, before the process id */

/* By what ids others may know a recording. */
struct control_listeners {
	pid_t pids[2]; /* the process; the recorder, if it is the one that it was given, or 0 */
	int fds[2];    /* -1: not open yet */
};

/* Listens for requests on behalf of these. Where another one does (the collector of the program
 * that it was before an exec), control_serve tries again. */
void control_open(struct control_listeners *l);
void control_close(const struct control_listeners *l);

/* What a collector has for those who ask. */
struct control_duty {
	struct collector *collector;
	/* The profile so far, or only how things are now; called in a copy of the collector. */
	struct profile *(*build)(void *context, bool brief);
	void *context;
	bool brief;	     /* what is asked for at the moment */
	char path[PATH_MAX]; /* where the profile will be, from the root on */
	struct offshoot offshoot;
	struct surveying *surveying; /* for those who ask what is resident */
};

/* Answers what has come in, and tells whether anything had. */
bool control_serve(struct control_listeners *l, struct control_duty *duty);

/* Asks the process's collector for a snapshot. 0, or -1 with `e`. */
int control_take_snapshot(pid_t target, const char *name, struct collect_snapshot *kept,
			  struct error *e);

/* The same with a look at what is resident, for which it waits. -1 too where that could not be
 * seen; the snapshot may have been taken nevertheless. */
int control_take_survey(pid_t target, const char *name, struct surveying_answer *answer,
			struct error *e);

/* Tells whoever asked for that; for struct surveying. */
void control_answer_survey(int connection, const struct surveying_answer *answer);

/* Who listens on behalf of the process; 0: nobody. */
pid_t control_find_collector(pid_t target);

/* Who answered, and what will be left of the recording. */
struct control_origin {
	pid_t collector;
	char path[PATH_MAX]; /* of the profile that it writes in the end */
};

/* Asks for the profile so far, without symbols; it says that the recording ended before the program
 * did. NULL with `e`. */
struct profile *control_read_profile(pid_t target, struct control_origin *origin, struct error *e);

/* The same with what is lost and what is held now, for which the process is stopped: for as long as
 * is promised, or with leave (enum collect_leave) as it takes. */
struct profile *control_find_lost(pid_t target, unsigned leave, struct control_origin *origin,
				  struct error *e);

/* The same of how things are now, and no more: collect_build_brief. */
struct profile *control_read_brief(pid_t target, struct control_origin *origin, struct error *e);

#endif
