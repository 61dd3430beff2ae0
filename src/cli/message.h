/* message.h -- one-line messages on stderr, all of the same form. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_MESSAGE_H
#define MIDDEN_CLI_MESSAGE_H

#include "base/error.h"
#include "profile/profile.h"

/* "midden: TEXT". Control characters are made visible: texts hold names from files. */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "midden: FILE: byte N: TEXT"; the place only if it is known. Returns COMMAND_FAILED. */
int message_fault(const char *file, const struct error *e);

/* That a profile does not tell what is lost, and why, as far as it tells; `file` is NULL if the
 * user named none. */
void message_refuse_lost(const char *file, const struct profile *p);

/* "midden: COMMAND: TEXT" and where to find help. Returns COMMAND_USAGE. */
int message_usage(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The usage message for what getopt_long gave: '?' an unknown option, ':' one without its argument.
 */
int message_bad_option(const char *command, int result, char **argv);

#endif
