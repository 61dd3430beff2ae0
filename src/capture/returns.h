/* returns.h -- whether an address can be one that a call returns to.
 * Runs: any thread of the target, inside malloc. Called by walk_step.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_RETURNS_H
#define MIDDEN_CAPTURE_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/walk_step.h"

/* What a frame record is said to hold, without a signature. In an object it must follow a call, or
 * be where the kernel has signal handlers return to; elsewhere it must be executable,
 * and follow a call unless that code is known already. */
bool returns_has(const struct walk *w, uint64_t address);

#endif
