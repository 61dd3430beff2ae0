/* unrecorded.h -- processes that nobody answers for, and why. Runs: in the command that asks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_UNRECORDED_H
#define MIDDEN_CLI_UNRECORDED_H

#include <sys/types.h>

#include "base/error.h"

/* The process that a thread is one of; 0: that id is no thread's, or its process's own. */
pid_t unrecorded_find_process(pid_t thread);

/* Says why a process cannot be asked. -1. */
int unrecorded_explain(pid_t target, struct error *e);

#endif
