/* libc_arenas.h -- maps that glibc's malloc has further arenas in, those of threads. Runs: in the
 * collector process, one thread, or a copy of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LIBC_ARENAS_H
#define MIDDEN_COLLECT_LIBC_ARENAS_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/regions.h"

/* Whether the region is one, by what is at its start: also where no block lives any more. A program
 * may well map memory of its own at such an address. */
bool libc_arenas_is_one(pid_t pid, const struct region *region);

#endif
