/* lost_way.c -- the ways to look at the memory of a target that is to go on soon, best first.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/lost_way.h"

#include <stdlib.h>
#include <string.h>

#include "format/env.h"

#define WORTH_BYTES (UINT64_C(16) << 20) /* less is looked at in some milliseconds */

static const enum lost_way now[] = {LOST_NOW};
static const enum lost_way unseen[] = {LOST_SIBLING, LOST_LATER, LOST_NOW};
static const enum lost_way as_child[] = {LOST_COPY, LOST_LATER, LOST_NOW};
static const enum lost_way copy[] = {LOST_COPY, LOST_NOW};
static const enum lost_way later[] = {LOST_LATER, LOST_NOW};

const enum lost_way *lost_way_choose(uint64_t resident_bytes, bool may_have_child)
{
	const char *wanted = getenv(ENV_TWIN);
	bool is_worth_it = resident_bytes >= WORTH_BYTES;

	if (!wanted && is_worth_it)
		return may_have_child ? as_child : unseen;
	if (!wanted)
		return now;
	if (strcmp(wanted, "now") == 0)
		return now;
	if (strcmp(wanted, "later") == 0)
		return later;
	if (strcmp(wanted, "0") == 0)
		return is_worth_it ? later : now;
	return copy;
}
