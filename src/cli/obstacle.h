/* obstacle.h -- why a program cannot be recorded, in words. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_OBSTACLE_H
#define MIDDEN_CLI_OBSTACLE_H

#include <stdbool.h>

/* Whether the program is a script. */
bool obstacle_is_script(const char *name);

/* The path of the program if it is an ELF file, malloc'ed; else NULL. *is_jealous: it has
 * AddressSanitizer as a library, which wants to be the first one and has to be told to bear with
 * ours. */
char *obstacle_find_elf(const char *name, bool *is_jealous);

/* Why libmidden.so did not get into the program, as far as its file tells: malloc'ed. */
char *obstacle_explain(const char *name);

#endif
