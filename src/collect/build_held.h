/* build_held.h -- what somebody held, as the figures of a site in a profile. Runs: in the collector
 * process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_BUILD_HELD_H
#define MIDDEN_COLLECT_BUILD_HELD_H

#include "collect/peak.h"
#include "collect/ticks.h"
#include "profile/profile.h"

/* Settles it first. The caller adds stack, thread, kind and what else is kept beside. */
struct profile_site build_held(struct holding *held, const struct peak *peak,
			       const struct ticks *clock);

#endif
