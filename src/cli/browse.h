/* browse.h -- `midden top` on a terminal: keys and what they show. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_BROWSE_H
#define MIDDEN_CLI_BROWSE_H

#include "cli/tracking.h"

/* Shows the program until the user has seen enough, renewed every `delay_ms`. COMMAND_GOOD, or
 * COMMAND_FAILED after a message. The terminal is left as it was, also when a signal ends it. */
int browse_run(struct tracking *t, int delay_ms, const struct style *style);

#endif
