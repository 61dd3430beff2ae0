/* holders.h -- gives the variables that hold blocks their names. Runs: offline; called when symbols
 * are looked up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_HOLDERS_H
#define MIDDEN_MODEL_HOLDERS_H

#include "profile/profile.h"
#include "symbol/symbol.h"

/* Puts names in place of the paths of files in the profile's links, where they can be found: the
 * variable's, and where in it the pointer is. `options` may be NULL. */
void holders_resolve(struct profile *p, const struct symbol_options *options);

#endif
