/* fleeting.c -- whether files that a profile needs for its names may not be there for long.
 * Runs: in a collector process. Called by recording.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleeting.h"

#include <sys/stat.h>

/* By the time of the last change of the inode: a copy may have kept the other one. */
static bool is_younger(const char *path, const struct timespec *since)
{
	struct stat file;

	if (*path != '/' || stat(path, &file))
		return false;
	return file.st_ctim.tv_sec != since->tv_sec ? file.st_ctim.tv_sec > since->tv_sec
						    : file.st_ctim.tv_nsec >= since->tv_nsec;
}

bool fleeting_has_files(const struct profile *p, const struct timespec *since)
{
	for (size_t i = 1; i < p->modules.count; i++)
		if (is_younger(profile_string(p, p->modules.at[i].path), since))
			return true;
	return false;
}
