/* regions.c -- what a process has mapped where. Runs: in the collector process, one thread, when
 * somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/regions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_AT_ONCE 32u /* between two looks at the clock */

void regions_fini(struct regions *r)
{
	vec_free(&r->list);
	vec_free(&r->names);
}

static uint32_t add_name(struct regions *r, const char *name)
{
	size_t bytes = strlen(name) + 1;
	size_t at = r->names.count;

	if (bytes == 1)
		return 0;
	vec_reserve(&r->names, bytes);
	memcpy(r->names.at + at, name, bytes);
	r->names.count += bytes;
	return (uint32_t)at;
}

/* start-end perms offset device inode path. */
static bool take_line(struct regions *r, char *line)
{
	struct region region = {0};
	char perms[5] = "";
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
		   &region.start, &region.end, perms, &region.offset, &region.inode, &path) != 5 ||
	    region.end <= region.start || strlen(perms) != 4)
		return false;
	region.is_readable = perms[0] == 'r';
	region.is_writable = perms[1] == 'w';
	region.is_executable = perms[2] == 'x';
	region.is_shared = perms[3] == 's';
	region.name = add_name(r, line + path);
	*vec_push(&r->list) = region;
	return true;
}

/* Where the clock is slow, it takes as long as a line. */
static bool is_cut_short(const struct regions *r)
{
	return r->deadline && r->list.count % LINES_AT_ONCE == LINES_AT_ONCE - 1 &&
	       deadline_is_over(r->deadline);
}

int regions_read(struct regions *r, pid_t pid, struct error *e)
{
	char path[64];
	char *line = NULL;
	size_t room = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return error_set_errno(e, "the kernel does not let us see the maps of process %d",
				       (int)pid);
	r->list.count = r->names.count = 0;
	*vec_push(&r->names) = '\0';
	while (!is_cut_short(r) && getline(&line, &room, maps) > 0)
		(void)take_line(r, line);
	free(line);
	(void)fclose(maps);
	if (r->list.count)
		return 0;
	return error_set(e, "the memory of process %d is gone, or the kernel hides it", (int)pid);
}

const char *regions_get_name(const struct regions *r, const struct region *region)
{
	return region->name < r->names.count ? r->names.at + region->name : "";
}

const struct region *regions_find(const struct regions *r, uint64_t address)
{
	size_t low = 0, high = r->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->list.at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == r->list.count || r->list.at[low].start > address)
		return NULL;
	return &r->list.at[low];
}
