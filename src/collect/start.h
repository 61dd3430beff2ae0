/* start.h -- a recording that begins when something is first seen on the stack of an allocation: a
 * library, a function. Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The target sends all its events meanwhile; the collector leaves them out until the first that
 * meets the condition. */
#ifndef MIDDEN_COLLECT_START_H
#define MIDDEN_COLLECT_START_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "collect/segment_map.h"

struct start;

/* `what` is copied; both what it points to and the map must outlive it. */
struct start *start_new(const struct segment_map *map, const struct collect_start *what);
void start_free(struct start *s); /* NULL is allowed */

/* Whether an allocation with this stack meets the condition. Every place is looked at once. */
bool start_is_met(struct start *s, uint32_t node);

#endif
