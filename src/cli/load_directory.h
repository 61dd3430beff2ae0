/* load_directory.h -- all profiles of a directory as one: those of a process tree, or of the ranks
 * of a parallel program. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_LOAD_DIRECTORY_H
#define MIDDEN_CLI_LOAD_DIRECTORY_H

#include <stdbool.h>

#include "cli/load.h"
#include "model/roll.h"

bool load_is_directory(const char *path);

/* Its *.mdn files, added up, but for merged ones whose processes are all there without them: a
 * message says which. One that cannot be read is named and left out, and the whole counts as
 * damaged. NULL after a message on stderr. */
struct profile *load_directory(const char *path, const struct load_options *options);

/* The message for processes that are counted more than once; nothing if there are none. */
void load_note_doubles(const struct roll *r);

#endif
