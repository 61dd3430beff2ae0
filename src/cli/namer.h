/* namer.h -- looks up the names for the profiles of followed processes, one after the other.
 * Runs: in `midden record`, and in a process of its own that does the work.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a build are many, short, and mostly the same few programs. Would each collector
 * look up its own, every one of them would read the debug information of libc, at the expense of
 * what still runs. One process after the other keeps it open, and stands back while the recording
 * goes on. */
#ifndef MIDDEN_CLI_NAMER_H
#define MIDDEN_CLI_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

/* Zero-initialise, but for `enter`. */
struct namer {
	/* Called in the new process: to give back what only its parent needs. */
	void (*enter)(void *context);
	void *context;
	VEC(char *) paths;
	size_t next;	/* of these, the first that is not done */
	pid_t pid;	/* 0: there is none */
	int orders_out; /* these two are for as long as there is one; orders -1: it is to end */
	int answers_in;
	bool is_at_work; /* on `next` */
	bool in_a_hurry;
	size_t done; /* addresses of the profile that it is at */
	size_t total;
};

/* One more profile. */
void namer_add(struct namer *n, const char *path);

/* Readable when there is something for namer_take; -1: nothing to wait for. */
int namer_get_fd(const struct namer *n);
void namer_take(struct namer *n);

/* Nothing else runs any more. */
void namer_hurry(struct namer *n);

/* Begins no other profile. Returns how many are left, with the one that it is at: that is left too,
 * unless it is waited for. */
size_t namer_give_up(struct namer *n);

bool namer_is_done(const struct namer *n);

/* How far it has come, in thousandths of a profile, of how many. */
void namer_get_progress(const struct namer *n, size_t *done, size_t *total);

/* In a process that has come of this one and is no namer. */
void namer_close(const struct namer *n);

void namer_fini(struct namer *n);

#endif
