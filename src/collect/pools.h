/* pools.h -- memory that allocators of the program's own cut up. Runs: in the collector process,
 * one thread, when the program says so.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_POOLS_H
#define MIDDEN_COLLECT_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/account.h"

void pools_fini(struct account *a);

/* Blocks inside of this memory count from now on; one that begins there does not. */
void pools_open(struct account *a, const struct event *e);

/* The blocks inside are gone; the one that it was counts again. */
void pools_close(struct account *a, const struct event *e);

/* The same but for the latter, if the address is that of a pool: its memory is being freed. */
bool pools_free(struct account *a, const struct event *e);

#endif
