/* rank.c -- which rank of a parallel program a process is. Runs: in `midden record` and in
 * collectors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT_BYTES_MAX (4U << 20)

/* Launchers use each other: that of the MPI library knows best, that of the batch system last. */
static const struct {
	const char *rank;
	const char *count; /* NULL: it does not tell */
	bool needs_count;  /* is there for programs that are not parallel, too */
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},
	{"MPIRUN_RANK", "MPIRUN_NPROCS", false},
	{"PMI_RANK", "PMI_SIZE", false},
	{"PALS_RANKID", "PALS_SIZE", false},
	{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", false},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", false},
	{"ALPS_APP_PE", NULL, false},
	{"PMIX_RANK", NULL, false},
	{"SLURM_PROCID", "SLURM_NTASKS", true},
};

static const char *find_variable(const char *environment, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	while (bytes) {
		size_t entry = strnlen(environment, bytes);

		if (entry < bytes && entry > length && environment[length] == '=' &&
		    memcmp(environment, name, length) == 0)
			return environment + length + 1;
		if (entry == bytes)
			break;
		environment += entry + 1;
		bytes -= entry + 1;
	}
	return NULL;
}

static bool parse_number(const char *text, const char **end, uint32_t *value)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long number = strtoul(text, &stop, 10);
	*end = stop;
	*value = (uint32_t)number;
	return errno == 0 && number < RANK_NONE;
}

static bool read_number(const char *environment, size_t bytes, const char *name, uint32_t *value)
{
	const char *text = name ? find_variable(environment, bytes, name) : NULL;
	const char *end;

	return text && parse_number(text, &end, value) && !*end;
}

struct rank rank_find(const char *environment, size_t bytes)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		struct rank r = {0};

		if (!read_number(environment, bytes, launchers[i].rank, &r.number))
			continue;
		if (!read_number(environment, bytes, launchers[i].count, &r.count))
			r.count = 0;
		if (!launchers[i].needs_count || r.count > 1)
			return r;
	}
	return (struct rank){.number = RANK_NONE};
}

struct rank rank_read(pid_t pid)
{
	struct rank r = {.number = RANK_NONE};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return r;
	char *environment = mem_new(ENVIRONMENT_BYTES_MAX, 1);
	size_t bytes = fread(environment, 1, ENVIRONMENT_BYTES_MAX, f);
	r = rank_find(environment, bytes);
	free(environment);
	(void)fclose(f);
	return r;
}

/* ---- lists ----------------------------------------------------------------------------------- */

int rank_list_parse(struct rank_list *list, const char *text, struct error *e)
{
	const char *at = text;

	for (;;) {
		struct rank_range r;

		if (!parse_number(at, &at, &r.first))
			break;
		r.last = r.first;
		if (*at == '-' && (!parse_number(at + 1, &at, &r.last) || r.last < r.first))
			break;
		*vec_push(&list->ranges) = r;
		if (!*at)
			return 0;
		if (*at++ != ',')
			break;
	}
	return error_set(e, "ranks are numbers and ranges, as in 0,4-7, not '%s'", text);
}

bool rank_list_has(const struct rank_list *list, uint32_t rank)
{
	for (size_t i = 0; i < list->ranges.count; i++)
		if (rank >= list->ranges.at[i].first && rank <= list->ranges.at[i].last)
			return true;
	return false;
}

const struct rank_range *rank_list_find_beyond(const struct rank_list *list, uint32_t count)
{
	for (size_t i = 0; i < list->ranges.count; i++)
		if (list->ranges.at[i].first >= count)
			return &list->ranges.at[i];
	return NULL;
}

void rank_list_free(struct rank_list *list)
{
	vec_free(&list->ranges);
}
