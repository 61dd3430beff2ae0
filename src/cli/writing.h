/* writing.h -- profiles that the recorded program wants in files while it runs. Runs: in a
 * collector process, and in the copies of it that write.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_WRITING_H
#define MIDDEN_CLI_WRITING_H

#include <sys/types.h>

#include "base/vec.h"
#include "collect/collect.h"

/* Zero-initialise, but for the first three. */
struct writing {
	struct collector *collector;
	struct profile *(*build)(void *context, bool brief); /* called in a copy */
	void *context;
	VEC(struct collect_write) waiting;
	struct collect_write current; /* what `copy` is at */
	pid_t copy;		      /* 0: there is none */
};

/* Sees to what the program has asked for since the last call, one file after the other. */
void writing_serve(struct writing *w);

/* Nobody waits any more. A copy that is at work finishes its file. */
void writing_fini(struct writing *w);

#endif
