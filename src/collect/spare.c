/* spare.c -- how much memory could be taken without harm to others.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/spare.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct spare_files kernel_files = {"/proc/meminfo", "/proc/self/cgroup",
						"/sys/fs/cgroup"};

/* The names of what is asked for, in both versions of control groups. */
struct version {
	const char *folder; /* below the mount */
	const char *limit;
	const char *high; /* "": there is none */
	const char *current;
	const char *files; /* line of memory.stat */
};

static const struct version versions[] = {
	{"/memory", "memory.limit_in_bytes", "", "memory.usage_in_bytes", "total_inactive_file "},
	{"", "memory.max", "memory.high", "memory.current", "inactive_file "},
};

/* The number behind a word at the begin of a line; `otherwise` where there is none, or no number
 * ("max"). */
static uint64_t read_number(const char *path, const char *word, uint64_t otherwise)
{
	char line[256];
	uint64_t found = otherwise;
	FILE *file = fopen(path, "re");

	while (file && found == otherwise && fgets(line, sizeof(line), file)) {
		char *end;

		if (strncmp(line, word, strlen(word)) != 0)
			continue;
		uint64_t value = strtoull(line + strlen(word), &end, 10);
		if (end != line + strlen(word))
			found = value;
	}
	if (file)
		(void)fclose(file);
	return found;
}

static uint64_t read_in(const char *folder, const char *name, const char *word, uint64_t otherwise)
{
	char path[PATH_MAX + 64];

	if (!*name)
		return otherwise;
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return read_number(path, word, otherwise);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What one group leaves. Pages of files that nobody has used for long are given back first. */
static uint64_t read_group(const char *folder, const struct version *v)
{
	uint64_t limit = min(read_in(folder, v->limit, "", UINT64_MAX),
			     read_in(folder, v->high, "", UINT64_MAX));
	uint64_t used = read_in(folder, v->current, "", 0);
	uint64_t files = min(read_in(folder, "memory.stat", v->files, 0), used);

	used -= files;
	return limit > used ? limit - used : 0;
}

/* A group and those that it is part of, as far as they can be seen. */
static uint64_t read_groups(const char *mount, const char *group, const struct version *v)
{
	char folder[PATH_MAX];
	size_t root = (size_t)snprintf(folder, sizeof(folder), "%s%s", mount, v->folder);
	uint64_t left = UINT64_MAX;

	if ((size_t)snprintf(folder, sizeof(folder), "%s%s%s", mount, v->folder, group) >=
	    sizeof(folder))
		return 0;
	for (;;) {
		left = min(left, read_group(folder, v));
		char *last = strrchr(folder + root, '/');
		if (!last)
			return left;
		*last = '\0';
	}
}

/* N:CONTROLLERS:GROUP, of which version 2 has one line, with no controllers. */
static uint64_t read_line(const struct spare_files *files, char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (strcmp(group, "/") == 0)
		*group = '\0';
	controllers++;
	if (!*controllers)
		return read_groups(files->mount, group, &versions[1]);
	return strstr(controllers, "memory") ? read_groups(files->mount, group, &versions[0])
					     : UINT64_MAX;
}

uint64_t spare_read_bytes(const struct spare_files *files)
{
	char line[PATH_MAX + 64];

	files = files ? files : &kernel_files;
	uint64_t kib = read_number(files->meminfo, "MemAvailable:", 0);
	uint64_t left = kib < UINT64_MAX / 1024 ? kib * 1024 : 0;
	FILE *groups = fopen(files->cgroup, "re");
	while (groups && fgets(line, sizeof(line), groups))
		left = min(left, read_line(files, line));
	if (groups)
		(void)fclose(groups);
	return left;
}
