/* rank.h -- which rank of a parallel program a process is: its launcher leaves that in the
 * environment. Runs: in `midden record` and in collectors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_RANK_H
#define MIDDEN_CLI_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

#define RANK_NONE UINT32_MAX

struct rank {
	uint32_t number; /* RANK_NONE: it is none */
	uint32_t count;	 /* of all ranks; 0: not known */
};

/* From an environment as the kernel shows it: NAME=VALUE texts, each ended by a NUL byte. Open MPI,
 * MPICH, Intel MPI, MVAPICH, Slurm, PALS, ALPS, jsrun and Flux are known. */
struct rank rank_find(const char *environment, size_t bytes);

/* Of a process, by /proc. */
struct rank rank_read(pid_t pid);

/* A list of ranks: "0,4-7". */
struct rank_range {
	uint32_t first;
	uint32_t last;
};

struct rank_list {
	VEC(struct rank_range) ranges;
};

/* -1 with `e`. */
int rank_list_parse(struct rank_list *list, const char *text, struct error *e);
bool rank_list_has(const struct rank_list *list, uint32_t rank);

/* A range that names only ranks beyond so many; NULL: none does. */
const struct rank_range *rank_list_find_beyond(const struct rank_list *list, uint32_t count);

void rank_list_free(struct rank_list *list);

#endif
