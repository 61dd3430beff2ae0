/* nameless.h -- programs and libraries whose functions have no names. Runs: offline, called by the
 * reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_NAMELESS_H
#define MIDDEN_MODEL_NAMELESS_H

#include "base/vec.h"
#include "profile/profile.h"

/* Indices of modules, the one with most frames first. Zero-initialise, free with vec_free. */
struct nameless {
	VEC(uint32_t) modules;
};

/* Those that much of the stacks is in and most of whose frames have neither a function nor a line.
 * None if nobody has looked for names. */
void nameless_find(struct nameless *n, const struct profile *p);

#endif
