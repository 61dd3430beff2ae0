/* find_profile.h -- the profile that a command is about when none is named. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_FIND_PROFILE_H
#define MIDDEN_CLI_FIND_PROFILE_H

/* The name of the midden.*.mdn in a directory that was written last (of equals the last by name),
 * or of a file that has the name that `output` makes (a pattern as recording_output_name takes it,
 * NULL: none) and is newer. To be freed by the caller; NULL if there is none. */
char *find_profile_newest(const char *directory, const char *output);

#endif
