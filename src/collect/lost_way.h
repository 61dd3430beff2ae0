/* lost_way.h -- the ways to look at the memory of a target that is to go on soon, best first.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LOST_WAY_H
#define MIDDEN_COLLECT_LOST_WAY_H

#include <stdbool.h>
#include <stdint.h>

enum lost_way {
	LOST_NOW,     /* it waits until each word of its memory has been looked at */
	LOST_SIBLING, /* by a copy that is nothing to it */
	LOST_LATER,   /* its memory is read while it waits, and looked at afterwards */
	LOST_COPY,    /* by a copy, be it a child of its own: for who asks for that */
};

/* How to look at a target of this size: the next way is taken where one cannot be gone. NOW is the
 * last one of each list. By the variable MIDDEN_TWIN (format/env.h), or for its size: a stop of
 * some milliseconds is not worth the while. `may_have_child`: of its own, which tells it of us. */
const enum lost_way *lost_way_choose(uint64_t resident_bytes, bool may_have_child);

#endif
