/* resolve.h -- gives the addresses of a profile their functions and source lines.
 * Runs: offline, one thread; called when a recording ends, or by the first report on it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_RESOLVE_H
#define MIDDEN_MODEL_RESOLVE_H

#include "base/error.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

/* Looks up every node that has no frames yet, stores frames and their strings in the profile and
 * marks it resolved. Nodes at the same address of the same file share their frames. A module that
 * is gone, or was replaced since the recording, leaves its nodes as they are: that is no failure.
 * Returns the number of such modules; `e` then says why for the first. */
int model_resolve(struct profile *p, const struct symbol_options *options, struct error *e);

#endif
