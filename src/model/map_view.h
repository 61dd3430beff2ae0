/* map_view.h -- a profile seen as what the program mapped itself, not as what it allocated. Runs:
 * offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MAP_VIEW_H
#define MIDDEN_MODEL_MAP_VIEW_H

#include "profile/profile.h"

/* "anonymous", "file", "reserved", "shared", "break", "allocator". */
const char *map_view_get_name(uint64_t kind);

/* The kind of that name (enum profile_map) that has stacks; PROFILE_MAP_KINDS: there is none. */
uint32_t map_view_find_kind(const char *name);

/* Maps take the place of blocks in the profile: in the sites and totals, so that whatever shows
 * those shows maps. What is kept of blocks alone (time line, snapshots, shares of threads,
 * histograms, what is lost, what is resident) is gone. Only those of one kind, unless `kind` is
 * PROFILE_MAP_KINDS. -1 with `e` if the profile has no maps. */
int map_view_choose(struct profile *p, uint32_t kind, struct error *e);

#endif
