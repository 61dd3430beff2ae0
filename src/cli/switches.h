/* switches.h -- words that say yes or no, and variables that hold them. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_SWITCHES_H
#define MIDDEN_CLI_SWITCHES_H

#include <stdbool.h>

#include "base/error.h"

/* 1 or 0; -1: neither yes nor no. */
int switches_parse(const char *text);

/* Sets `value` to what a variable of the environment says; one that is empty or not set says
 * nothing. -1 with `e`: it is neither yes nor no. */
int switches_read(const char *variable, bool *value, struct error *e);

#endif
