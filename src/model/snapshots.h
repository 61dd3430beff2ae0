/* snapshots.h -- the moments that a program or its user asked to keep. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_SNAPSHOTS_H
#define MIDDEN_MODEL_SNAPSHOTS_H

#include <stddef.h>

#include "base/error.h"
#include "model/moment.h"

/* The snapshot that `text` means: its name, or its number from 1 on. Its index, or -1 with `e`. */
long snapshots_find(const struct profile *p, const char *text, struct error *e);

/* The moment of snapshot `i`. */
struct moment snapshots_get_moment(const struct profile *p, size_t i);

#endif
