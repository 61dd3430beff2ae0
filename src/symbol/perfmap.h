/* perfmap.h -- names of code that a running program generates (JIT), as it leaves them for perf.
 * Runs: offline, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_PERFMAP_H
#define MIDDEN_SYMBOL_PERFMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct perfmap;

/* Whose map it is. Process numbers come round again, so what was last written before or after the
 * recording is of another process. */
struct perfmap_owner {
	pid_t pid;
	uint64_t start_unix_ns; /* of the recording */
	uint64_t end_unix_ns;	/* 0: not known */
};

/* Reads DIRECTORY/perf-PID.map; `directory` is /tmp outside of tests. Treats it as hostile: it must
 * be a regular file of this user, no link; lines that are not "START SIZE NAME" in hexadecimal are
 * passed over. Where ranges overlap, the later line holds, since code is replaced. NULL with `e`.
 */
struct perfmap *perfmap_read(const char *directory, const struct perfmap_owner *owner,
			     struct error *e);
void perfmap_free(struct perfmap *m);

/* The name of the code around a run-time address; NULL if there is none. Belongs to the map. */
const char *perfmap_find(const struct perfmap *m, uint64_t address);

#endif
