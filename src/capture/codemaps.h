/* codemaps.h -- executable memory, as the kernel lists it: for code that belongs to no object.
 * Runs: any thread of the target, inside malloc. Called by returns.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_CODEMAPS_H
#define MIDDEN_CAPTURE_CODEMAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the memory at `address` is executable. An address that is not in the list has it read
 * again, but if that is of no use, more and more seldom. */
bool codemaps_has(uint64_t address);

#endif
