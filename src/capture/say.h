/* say.h -- one-line messages on standard error. Runs: anywhere in the target; no stdio, no
 * allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_SAY_H
#define MIDDEN_CAPTURE_SAY_H

/* Notes whether descriptor 2 is open at start-up: a program may later open a file of its own there.
 */
void say_init(void);

/* Writes "midden: TEXT\n" unless standard error was closed. */
void say(const char *text);

#endif
