/* pack_memory.h -- what a profile tells beyond its blocks, as the viewer's page reads it: maps, who
 * keeps pages resident, what is lost. Runs: offline; called by pack.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_PACK_MEMORY_H
#define MIDDEN_SERVE_PACK_MEMORY_H

#include "serve/packing.h"

/* Adds the tables that the profile has; no columns of the others. Before the nodes and texts. */
void pack_memory_add(struct packing *p);

#endif
