/* lost_pace.h -- how long a look would stop the target, found out while it runs, and what to say
 * if that is too long. Runs: in the collector process, one thread; its crew reads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LOST_PACE_H
#define MIDDEN_COLLECT_LOST_PACE_H

#include <stdbool.h>

#include "base/error.h"
#include "collect/lost_look.h"

/* Whether this way is by a copy; and if so, whether the fork will be quick enough, as far as maps
 * tell. */
bool lost_pace_is_by_copy(const struct look *l);
bool lost_pace_allows_fork(const struct look *l);

/* Reads a sample of what is to be read in the stop, by the same means. The spans must be planned,
 * the crew called, the stash open if there is to be one. False: the stop would be too long, and the
 * collector's `lost.expected_ns` is how long. True where there is little to read: then it is not
 * asked. */
bool lost_pace_is_good(struct look *l);

/* Says that the target is not stopped, as that would be for too long. Always -1. */
int lost_pace_refuse(const struct look *l, struct error *e);

/* The same for one whose events come faster than they are heard, where the last ones would take so
 * long. Always -1. */
int lost_pace_refuse_events(const struct look *l, uint64_t expected_ns, struct error *e);

/* The same for one with so many maps that a list of these would take too long. 0: it would not. */
int lost_pace_check_maps(const struct look *l, struct error *e);

/* Says that it was let go, and before what. To be called when it goes on. Always -1. */
int lost_pace_give_up(struct look *l, const char *before, struct error *e);

#endif
