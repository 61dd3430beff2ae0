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

#include "base/error.h"
#include "collect/collect.h"

/* Listens for requests on behalf of the process, or of its recorder. The descriptor, or -1: another
 * one does (the collector of the program that it was before an exec); to be tried again. */
int control_open(pid_t target);

/* Answers what has come in, if anything has. `listener` may be -1. */
void control_serve(int listener, struct collector *c);

/* Asks the process's collector for a snapshot. 0, or -1 with `e`. */
int control_take_snapshot(pid_t target, const char *name, struct collect_snapshot *kept,
			  struct error *e);

#endif
