/* load_directory.h -- all profiles of a directory as one: those of a process tree, or of the ranks
 * of a parallel program. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_LOAD_DIRECTORY_H
#define MIDDEN_CLI_LOAD_DIRECTORY_H

#include <stdbool.h>

#include "cli/load.h"

bool load_is_directory(const char *path);

/* Its *.mdn files, added up. NULL after a message on stderr. */
struct profile *load_directory(const char *path, const struct load_options *options);

#endif
