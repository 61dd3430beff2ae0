/* choice.h -- which processes of a tree are recorded. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_CHOICE_H
#define MIDDEN_CLI_CHOICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/rank.h"

/* Zero-initialised: all. */
struct choice {
	const char *only;   /* names of programs, with * and ?, separated by commas; NULL: all */
	bool children_only; /* not the program that was named */
	struct rank_list ranks; /* empty: all */
};

/* Whether anything but --follow decides. */
bool choice_is_narrow(const struct choice *c);

/* `is_program`: the process that the user named. */
bool choice_has(const struct choice *c, pid_t pid, bool is_program);

/* The same of the names that a program has. */
bool choice_has_name(const struct choice *c, const char *name);

#endif
