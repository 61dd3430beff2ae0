/* record_settings.h -- the command line of `midden record`, read without recording. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_RECORD_SETTINGS_H
#define MIDDEN_CLI_RECORD_SETTINGS_H

#include <stdbool.h>

#include "cli/settings.h"

/* All that was said, with what files say. COMMAND_GOOD, or another status after a message in the
 * name of `command`; optind is at the program's name. Files are not read if help is wanted. */
int record_read_settings(struct settings *s, bool *wants_help, const char *command, int argc,
			 char **argv);

/* Whether a recording could be made with them; -1 with `e`, which says where it is said. Variables
 * of what is said to be off leave the environment. */
int record_check_settings(const struct settings *s, struct error *e);

/* Where profiles go by the user's settings, as a pattern, malloc'ed; NULL: nobody says anything, or
 * what they say makes no sense. */
char *record_get_output(void);

#endif
