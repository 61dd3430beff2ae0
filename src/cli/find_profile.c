/* find_profile.c -- the profile that a command is about when none is named. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/find_profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

struct newest {
	char *name;
	struct timespec time;
};

static bool is_newer(const struct newest *best, const char *name, struct timespec time)
{
	if (!best->name)
		return true;
	if (time.tv_sec != best->time.tv_sec)
		return time.tv_sec > best->time.tv_sec;
	if (time.tv_nsec != best->time.tv_nsec)
		return time.tv_nsec > best->time.tv_nsec;
	return strcmp(name, best->name) > 0;
}

static void consider(struct newest *best, int directory, const char *name)
{
	struct stat status;

	if (fnmatch("midden.*.mdn", name, 0) != 0)
		return;
	if (fstatat(directory, name, &status, 0) != 0 || !S_ISREG(status.st_mode))
		return;
	if (!is_newer(best, name, status.st_mtim))
		return;
	free(best->name);
	*best = (struct newest){mem_copy_string(name), status.st_mtim};
}

char *find_profile_newest(const char *directory)
{
	struct newest best = {0};
	const struct dirent *entry;
	DIR *d = opendir(directory);

	if (!d)
		return NULL;
	while ((entry = readdir(d)))
		consider(&best, dirfd(d), entry->d_name);
	closedir(d);
	return best.name;
}
