/* load_directory.c -- all profiles of a directory as one. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/load_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cli/message.h"
#include "model/merge.h"

bool load_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int is_profile(const struct dirent *entry)
{
	return fnmatch("*.mdn", entry->d_name, 0) == 0;
}

/* The only one keeps its moment of the peak, which a sum has not. */
static struct profile *load_one(const char *directory, const char *name,
				const struct load_options *options)
{
	char *path = mem_format("%s/%s", directory, name);
	struct profile *p = load_profile(path, options);

	free(path);
	return p;
}

static struct profile *load_all(const char *directory, struct dirent **entries, int count,
				const struct load_options *options)
{
	const struct merge_options sum = {.mode = PROFILE_MERGE_SUM};
	struct merge *m = merge_new(&sum);
	struct error e = {.offset = -1};

	for (int i = 0; i < count; i++) {
		struct profile *p = load_one(directory, entries[i]->d_name, options);

		if (!p) {
			merge_free(m);
			return NULL;
		}
		merge_add(m, p, entries[i]->d_name);
		profile_free(p);
	}
	struct profile *all = merge_finish(m, &e);
	if (!all)
		(void)message_fault(directory, &e);
	return all;
}

struct profile *load_directory(const char *path, const struct load_options *options)
{
	struct dirent **entries = NULL;
	struct profile *p = NULL;
	int count = scandir(path, &entries, is_profile, alphasort);

	if (count < 0)
		message_print("%s: %s", path, strerror(errno));
	else if (count == 0)
		message_print("%s: there is no .mdn file in this directory", path);
	else if (count == 1)
		p = load_one(path, entries[0]->d_name, options);
	else
		p = load_all(path, entries, count, options);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return p;
}
