/* fleeting.h -- whether files that a profile needs for its names may not be there for long.
 * Runs: in a collector process. Called by recording.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_FLEETING_H
#define MIDDEN_CLI_FLEETING_H

#include <stdbool.h>
#include <time.h>

#include "profile/profile.h"

/* Whether one of the profile's modules was made or changed at that time of the real-time clock or
 * after it: what is built, run and removed at once is. */
bool fleeting_has_files(const struct profile *p, const struct timespec *since);

#endif
