/* following.h -- a program that is still being recorded, state after state, for the viewer. Runs:
 * in the midden command, called by `view`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_FOLLOWING_H
#define MIDDEN_CLI_FOLLOWING_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/control.h"
#include "cli/viewing.h"

/* Zero-initialise; following_end frees what is in it. */
struct following {
	pid_t pid;
	const struct load_options *load;
	struct control_origin origin;
	struct viewing now;    /* what is to be shown, and whether the program still runs */
	struct viewing before; /* what was until the last step, and may still be in use */
	unsigned misses;       /* how often in a row nobody answered */
};

/* Asks for the first state. COMMAND_GOOD, or COMMAND_FAILED after a message. `load` must stay. */
int following_begin(struct following *f, pid_t pid, const struct load_options *load);

/* Asks for the next one. True if `now` has changed: to another state, or to the end, which is the
 * profile as it was written or, if that is not to be found, the last state. What `before` had goes.
 */
bool following_step(struct following *f);

void following_end(struct following *f);

#endif
