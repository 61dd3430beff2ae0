/* subsequence.h -- stacks of two profiles of which one is the other with frames left out.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_SUBSEQUENCE_H
#define MIDDEN_MODEL_SUBSEQUENCE_H

#include "model/match.h"
#include "model/pairing.h"

/* Pairs parts that have no row yet and whose subjects are sites with the same allocating function,
 * where the functions of one stack are those of the other, in order, with some in between (one
 * build inlined them or jumped to them, or they are new wrappers), but with no less than half of
 * its length; the fewest left out go first. Allocating functions with too many stacks to try are
 * left alone: see SUBSEQUENCE_GROUP. */
void subsequence_pair(struct pairing *p, const struct model *const models[2],
		      const struct match *match);

#define SUBSEQUENCE_GROUP  4096u   /* old times new stacks of one allocating function */
#define SUBSEQUENCE_BUDGET 400000u /* the same of all functions together: part of a second */

#endif
