/* find_profile.c -- the profile that a command is about when none is named. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/find_profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
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

	if (fstatat(directory, name, &status, 0) != 0 || !S_ISREG(status.st_mode))
		return;
	if (!is_newer(best, name, status.st_mtim))
		return;
	free(best->name);
	*best = (struct newest){mem_copy_string(name), status.st_mtim};
}

static void look_into(struct newest *best, const char *directory)
{
	const struct dirent *entry;
	DIR *d = opendir(directory);

	if (!d)
		return;
	while ((entry = readdir(d)))
		if (fnmatch("midden.*.mdn", entry->d_name, 0) == 0)
			consider(best, dirfd(d), entry->d_name);
	closedir(d);
}

/* ---- names that the user chose --------------------------------------------------------------- */

/* A pattern of glob: what a recording fills in may be anything. malloc'ed. */
static char *make_glob(const char *output)
{
	char *made = mem_new(2 * strlen(output) + 1, 1);
	char *to = made;

	for (; *output; output++) {
		bool is_filled = *output == '%' && output[1] && strchr("pnhr", output[1]);

		if (strchr("*?[\\", *output))
			*to++ = '\\';
		*to++ = is_filled ? '*' : *output;
		if (is_filled || (*output == '%' && output[1] == '%'))
			output++;
	}
	return made;
}

static void match(struct newest *best, const char *pattern)
{
	glob_t found = {0};

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			consider(best, AT_FDCWD, found.gl_pathv[i]);
	globfree(&found);
}

/* Children, ranks and second images have a number before the end of their names. */
static void match_all(struct newest *best, const char *output)
{
	char *pattern = make_glob(output);
	size_t length = strlen(pattern);
	size_t stem = length > 4 && strcmp(pattern + length - 4, ".mdn") == 0 ? length - 4 : length;
	char *numbered = mem_format("%.*s.[0-9]*%s", (int)stem, pattern, pattern + stem);

	match(best, pattern);
	match(best, numbered);
	free(numbered);
	free(pattern);
}

char *find_profile_newest(const char *directory, const char *output)
{
	struct newest best = {0};

	look_into(&best, directory);
	if (output)
		match_all(&best, output);
	return best.name;
}
