/* estimates.h -- what a profile of samples has beyond another. Runs: in the collector process, one
 * thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_ESTIMATES_H
#define MIDDEN_COLLECT_ESTIMATES_H

#include "collect/account.h"
#include "profile/profile.h"

/* How sure the figures of site number `index` are. */
void estimates_build_site(const struct account *a, uint32_t index, struct profile_site *site);

/* What threads have counted, in place of what was sampled of it; before they are sorted. */
void estimates_build_threads(const struct account *a, struct profile *p);

#endif
