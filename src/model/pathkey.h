/* pathkey.h -- a number for each sequence of functions that the stacks of two profiles consist of.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_PATHKEY_H
#define MIDDEN_MODEL_PATHKEY_H

#include "base/map.h"
#include "model/match.h"

/* Which frames of a stack count, and what tells them apart. Each is more tolerant than the one
 * before it. */
enum pathkey_rule {
	PATHKEY_STRICT, /* all frames, with parameters */
	PATHKEY_LOOSE,	/* all frames, without parameters */
	PATHKEY_BARE,	/* all frames, without arguments of templates either, as in what follows */
	PATHKEY_CALLS, /* without functions that were inlined: one build shows them, one does not */
	PATHKEY_SHARED, /* without callers that the other profile does not know: they were inlined,
			   called by a jump or are new wrappers there. The allocating end stays */
	PATHKEY_RULES
};

struct pathkey;

/* `models` and `match` must outlive it. Never NULL. */
struct pathkey *pathkey_new(const struct model *const models[2], const struct match *match,
			    enum pathkey_rule rule);
void pathkey_free(struct pathkey *k);

/* The number of a site's stack, from 1 on: equal if and only if the sequences are. 0 if none of its
 * frames counts. `gaps` gets a bit for each place where the rule left frames out, modulo 64: two
 * stacks that have other frames at the same place are not the same. */
uint32_t pathkey_get(struct pathkey *k, unsigned side, uint32_t site, uint64_t *gaps);

#endif
