/* shares.h -- which thread has which share of a site. Runs: offline, pure; called by filters and
 * reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads go by their serial (struct profile_thread). Blocks count for the thread that allocated
 * them, whoever freed them. */
#ifndef MIDDEN_MODEL_SHARES_H
#define MIDDEN_MODEL_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "model/figure.h"
#include "profile/profile.h"

/* False if the profile does not tell threads apart: it was made before there were shares. */
bool shares_are_known(const struct profile *p);

/* How many shares the site has: 1 where one thread allocated; 0 if that is not known. */
size_t shares_get_count(const struct profile *p, size_t site);

/* The i-th of them, by serial; its `thread` is 0 for all further threads together. The shares of a
 * site add up to the site. */
struct profile_part shares_get(const struct profile *p, size_t site, size_t i);

/* The share of one thread; all 0 if it has none. */
struct profile_part shares_find(const struct profile *p, size_t site, uint32_t thread);

/* What a figure comes to in a share. */
struct amount shares_get_amount(const struct profile_part *share, enum figure f);

/* `threads`: all of a site's, with their counters. */
void shares_add(struct json *j, const struct profile *p, size_t site);

#endif
