/* account_sampled.h -- what each event does to the figures where blocks are sampled.
 * Runs: in the collector process, one thread. Called by account.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_ACCOUNT_SAMPLED_H
#define MIDDEN_COLLECT_ACCOUNT_SAMPLED_H

#include "collect/account.h"

/* False, with nothing done, if the state of the block contradicts the event and `force` is not
 * set. Names and marks are not for it. */
bool account_sampled_apply(struct account *a, const struct event *e, bool force);

struct account_totals account_sampled_get_totals(const struct account *a);

/* Keeps cumulative figures from going back where they follow from estimates. */
void account_sampled_smooth(struct account *a, struct profile_point *point);

#endif
