/* build_deepest.h -- the functions that threads were in when their stacks were deepest. Runs: in
 * the collector process, one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_BUILD_DEEPEST_H
#define MIDDEN_COLLECT_BUILD_DEEPEST_H

#include "collect/collector.h"
#include "profile/profile.h"

/* Adds them to a profile that has its modules and threads. */
void build_deepest(const struct collector *c, struct profile *p);

#endif
