/* homing.h -- code by which a thread makes a system call for the collector, and gets back from it
 * by itself if need be (format/comeback.h). Runs: never, unless the collector leads a thread here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_HOMING_H
#define MIDDEN_CAPTURE_HOMING_H

#include "capture/host.h"
#include "format/comeback.h"

/* Where all that is. */
struct comeback homing_get(void);

#endif
