/* clear.c -- figures that start over while the recording goes on. Runs: in the collector process,
 * one thread, when the program asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/clear.h"

#include <string.h>

#include "collect/account_sampled.h"

/* While blocks move from the old sites to new ones. */
struct clearing {
	struct account *account;
	struct sites old;
	uint64_t ticks;
};

static void carry_over(void *context, struct live_block *block)
{
	struct clearing *c = context;
	uint32_t node = c->old.list.at[block->site].node;

	block->site = sites_reserve(&c->account->sites, node, block->thread);
	account_enter_again(c->account, block, c->ticks);
}

static void clear_threads(struct threads *threads)
{
	for (size_t i = 0; i < threads->list.count; i++) {
		struct thread *t = &threads->list.at[i];

		holding_init(&t->held);
		t->frees = t->freed_bytes = t->temporary = t->reallocations = 0;
	}
}

/* All but the table of live blocks. */
static void clear_all(struct account *a)
{
	const uint64_t interval = a->series.interval;
	const size_t most = a->parts.most;

	a->sites = (struct sites){0};
	parts_fini(&a->parts);
	a->parts = (struct parts){.most = most};
	clear_threads(&a->threads);
	memset(&a->lifetimes, 0, sizeof(a->lifetimes));
	memset(a->api_calls, 0, sizeof(a->api_calls));
	series_fini(&a->series);
	series_init(&a->series, interval);
	a->peak = (struct peak){0};
	a->snapshots.count = 0;
}

void clear_figures(struct account *a, uint64_t ticks)
{
	struct clearing c = {.account = a, .old = a->sites, .ticks = ticks};

	if (a->trace) {
		a->refused_clears++;
		return;
	}
	clear_all(a);
	if (a->sampling)
		account_sampled_clear(a);
	live_visit(&a->live, carry_over, &c);
	for (uint32_t slot = 0; slot < a->slot_count; slot++)
		if (a->actors[slot].resizing.ptr)
			carry_over(&c, &a->actors[slot].resizing);
	sites_fini(&c.old);
	mapped_clear(a->mapped, ticks);
	a->cleared_ticks = ticks;
	if (a->off_since && a->off_since < ticks)
		a->off_since = ticks;
	a->off_ticks = 0;
	account_add_point(a, ticks);
	series_skip(&a->series, ticks);
}
