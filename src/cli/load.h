/* load.h -- a profile from its file, with symbols. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_LOAD_H
#define MIDDEN_CLI_LOAD_H

#include <stdbool.h>

#include "profile/profile.h"

struct load_options {
	bool symbols; /* a profile without symbols gets them */
	bool keep; /* and they are written back if possible, so that the next command finds them */
};

/* Reads `file`, or the newest profile in the working directory if it is NULL. NULL after a message
 * on stderr. */
struct profile *load_profile(const char *file, const struct load_options *options);

#endif
