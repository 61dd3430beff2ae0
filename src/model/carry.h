/* carry.h -- names that were looked up for an earlier profile of a recording, for a later one.
 * Runs: offline; called by the live view.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_CARRY_H
#define MIDDEN_MODEL_CARRY_H

#include <stdint.h>

#include "profile/profile.h"

/* While a recording goes on, modules and stacks are only added to: those of `from` are in `to` at
 * the same places, and get the same frames. Returns the number of nodes, from the first, that are
 * the same and have been looked up (for resolve_options.known_nodes), found or not; 0 if the
 * profiles are of two recordings. */
uint32_t carry_names(struct profile *to, const struct profile *from);

#endif
