/* spare.c -- how much memory and how many cores could be taken without harm to others.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/spare.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct spare_files kernel_files = {"/proc/meminfo", "/proc/self/cgroup",
						"/sys/fs/cgroup"};

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

/* ---- what one group leaves, in both versions of control groups ------------------------------- */

/* The names of what is asked for. */
struct names {
	const char *limit;
	const char *high; /* "": there is none */
	const char *current;
	const char *files; /* line of memory.stat */
};

/* Pages of files that nobody has used for long are given back first. */
static uint64_t read_memory(const char *folder, const struct names *v)
{
	uint64_t limit = min(read_in(folder, v->limit, "", UINT64_MAX),
			     read_in(folder, v->high, "", UINT64_MAX));
	uint64_t used = read_in(folder, v->current, "", 0);
	uint64_t files = min(read_in(folder, "memory.stat", v->files, 0), used);

	used -= files;
	return limit > used ? limit - used : 0;
}

static uint64_t read_memory_first(const char *folder)
{
	static const struct names names = {"memory.limit_in_bytes", "", "memory.usage_in_bytes",
					   "total_inactive_file "};

	return read_memory(folder, &names);
}

static uint64_t read_memory_second(const char *folder)
{
	static const struct names names = {"memory.max", "memory.high", "memory.current",
					   "inactive_file "};

	return read_memory(folder, &names);
}

/* So many may be at work all the time: with more of them all would stand still in between. */
static uint64_t count_cores(uint64_t quota, uint64_t period)
{
	if (quota == UINT64_MAX || !period)
		return UINT64_MAX;
	return quota / period + (quota % period != 0);
}

static uint64_t read_cores_first(const char *folder)
{
	return count_cores(read_in(folder, "cpu.cfs_quota_us", "", UINT64_MAX), /* -1: none */
			   read_in(folder, "cpu.cfs_period_us", "", 0));
}

/* "QUOTA PERIOD", of which the first may be "max". */
static uint64_t read_cores_second(const char *folder)
{
	char word[32];
	uint64_t quota = read_in(folder, "cpu.max", "", UINT64_MAX);

	(void)snprintf(word, sizeof(word), "%" PRIu64 " ", quota);
	return count_cores(quota, read_in(folder, "cpu.max", word, 0));
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct resource {
	const char *controller; /* and in version 1 the folder below the mount */
	uint64_t (*read_first)(const char *folder);
	uint64_t (*read_second)(const char *folder);
};

static const struct resource memory = {"memory", read_memory_first, read_memory_second};
static const struct resource cores = {"cpu", read_cores_first, read_cores_second};

/* A group and those that it is part of, as far as they can be seen. */
static uint64_t read_groups(const char *root, const char *group,
			    uint64_t (*read)(const char *folder))
{
	char folder[PATH_MAX];
	uint64_t left = UINT64_MAX;

	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", root, group) >= sizeof(folder))
		return 0;
	for (;;) {
		left = min(left, read(folder));
		char *last = strrchr(folder + strlen(root), '/');
		if (!last)
			return left;
		*last = '\0';
	}
}

/* Whether a list with commas has a name. */
static bool has_name(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (strncmp(at, name, length) == 0 && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* N:CONTROLLERS:GROUP, of which version 2 has one line, with no controllers. */
static uint64_t read_line(const struct spare_files *files, const struct resource *r, char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	char root[PATH_MAX];

	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (strcmp(group, "/") == 0)
		*group = '\0';
	controllers++;
	if (!*controllers)
		return read_groups(files->mount, group, r->read_second);
	(void)snprintf(root, sizeof(root), "%s/%s", files->mount, r->controller);
	return has_name(controllers, r->controller) ? read_groups(root, group, r->read_first)
						    : UINT64_MAX;
}

static uint64_t read_lines(const struct spare_files *files, const struct resource *r)
{
	char line[PATH_MAX + 64];
	uint64_t left = UINT64_MAX;
	FILE *groups = fopen(files->cgroup, "re");

	while (groups && fgets(line, sizeof(line), groups))
		left = min(left, read_line(files, r, line));
	if (groups)
		(void)fclose(groups);
	return left;
}

uint64_t spare_read_bytes(const struct spare_files *files)
{
	files = files ? files : &kernel_files;
	uint64_t kib = read_number(files->meminfo, "MemAvailable:", 0);

	return min(kib < UINT64_MAX / 1024 ? kib * 1024 : 0, read_lines(files, &memory));
}

uint64_t spare_read_cores(const struct spare_files *files)
{
	uint64_t left = read_lines(files ? files : &kernel_files, &cores);

	return left ? left : 1;
}
