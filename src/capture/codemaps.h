/* codemaps.h -- executable memory, as the kernel lists it: for code that belongs to no object.
 * Runs: any thread of the target, inside malloc. Called by returns.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_CODEMAPS_H
#define MIDDEN_CAPTURE_CODEMAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the memory at `address` is executable. Asks the kernel, unless the address is in memory
 * that was found to be; only an address that was itself found not to be is not asked about again at
 * once, but more and more seldom. */
bool codemaps_has(uint64_t address);

/* Whether it is in memory that was found to be executable. */
bool codemaps_is_known(uint64_t address);

#endif
