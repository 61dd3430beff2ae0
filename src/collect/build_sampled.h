/* build_sampled.h -- what a profile of samples has beyond an exact one. Runs: in the collector
 * process, one thread. Called by build.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_BUILD_SAMPLED_H
#define MIDDEN_COLLECT_BUILD_SAMPLED_H

#include "collect/account.h"
#include "profile/profile.h"

/* The period, how sure the figures of each site are (which the profile has in the account's order),
 * and what the program counted without recording it. Nothing of an exact recording. */
void build_sampled(struct account *a, struct profile *p);

/* What each thread counted, in place of estimates, while they are in the account's order. */
void build_sampled_threads(const struct account *a, struct profile *p);

#endif
