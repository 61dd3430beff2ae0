/* account_sampled.h -- what each event does to the figures where blocks are sampled.
 * Runs: in the collector process, one thread. Called by account.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_ACCOUNT_SAMPLED_H
#define MIDDEN_COLLECT_ACCOUNT_SAMPLED_H

#include "collect/account.h"

struct collect_config;

/* Before anything else: which blocks will be samples. Small objects of Python are so once there is
 * one: other programs have none. */
void account_sampled_plan(struct account *a, const struct collect_config *config);

/* What the target is to be told: bytes between samples. */
uint64_t account_sampled_get_period(const struct collect_config *config);

/* Whether all blocks are samples; otherwise small objects of Python are, or none. */
static inline bool account_sampled_is_all(const struct account *a)
{
	return a->sampling && !a->sampling->partly;
}

/* A small object of Python has come that is a sample (false as below), or one is given back by the
 * event's thread. */
bool account_sampled_add_small(struct account *a, const struct event *e, bool force);
void account_sampled_give_back(struct account *a, const struct event *e,
			       const struct live_block *block);

/* A sample is gone, unseen. */
void account_sampled_leave(struct account *a, const struct live_block *block, uint64_t ticks);

/* As account_apply. */
uint32_t account_sampled_apply_all(struct account *a, const struct event *events, uint32_t count);

/* False, with nothing done, if the state of the block contradicts the event and `force` is not
 * set. */
bool account_sampled_apply(struct account *a, const struct event *e, bool force);

/* Figures start over: forgets what belongs to the old ones, then enters what lives again. */
void account_sampled_clear(struct account *a);
void account_sampled_enter_again(struct account *a, const struct live_block *block, uint64_t ticks);

/* A thread begins to act in the slot. */
void account_sampled_open(struct account *a, uint32_t slot, uint32_t serial);

struct account_totals account_sampled_get_totals(const struct account *a);

/* Keeps cumulative figures from going back where they follow from estimates. */
void account_sampled_smooth(struct account *a, struct profile_point *point);

#endif
