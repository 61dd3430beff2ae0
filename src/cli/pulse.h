/* pulse.h -- a recording that goes on, asked now and then how things are. Runs: in the process that
 * serves a recording, and in `midden top`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PULSE_H
#define MIDDEN_CLI_PULSE_H

#include <sys/types.h>

#include "base/error.h"
#include "cli/control.h"
#include "cli/load.h"
#include "model/model.h"

/* Zero-initialise but for `pid` and `load`; pulse_end frees what is in it. */
struct pulse {
	pid_t pid;
	const struct load_options *load;
	struct control_origin origin;
	struct profile *profile; /* NULL: never asked yet */
	struct model *model;
};

/* Asks; names that are known already are not looked up again. 0, or -1 with `e`: the state before
 * stays. */
int pulse_step(struct pulse *p, struct error *e);

/* Takes a profile with its symbols as the state. */
void pulse_take(struct pulse *p, struct profile *profile);

void pulse_end(struct pulse *p);

#endif
