/* account.h -- what each event does to the figures. Runs: in the collector process, one thread,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_ACCOUNT_H
#define MIDDEN_COLLECT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/event.h"
#include "collect/lifetimes.h"
#include "collect/live.h"
#include "collect/mapped.h"
#include "collect/parts.h"
#include "collect/sampling.h"
#include "collect/series.h"
#include "collect/sites.h"
#include "collect/small.h"
#include "collect/threads.h"
#include "collect/ticks.h"
#include "profile/trace_write.h"

/* What has to be remembered of the thread in a slot from one event to the next. */
struct actor {
	uint64_t last_ptr; /* its latest allocation, 0 once that is freed */
	uint64_t last_ticks;
	struct live_block resizing; /* ptr 0: none; off the table, still counted as live */
	uint64_t switch_word;	    /* its own: see segment_switch_later */
	uint32_t thread;
};

/* A text while its pieces come: of a mark, of an order. */
struct text {
	char *at; /* SEGMENT_TEXT_MAX + 1 bytes; NULL: there was none yet */
	uint32_t bytes;
};

/* Memory that an allocator of the program's own cuts up. */
struct pool {
	uint64_t start;
	uint64_t bytes;
	struct live_block block; /* that it was; ptr 0: none that we know */
};

/* The thread that is ending the program, and waits until its memory has been looked at. */
struct farewell {
	uint32_t slot;
	uint32_t question; /* 0: there is none */
};

/* A profile that a thread of the target waits for. */
struct write_order {
	char *path;
	uint32_t slot;
	uint32_t question;
};

/* A thread of the target waits until it has been found out what is lost. */
struct leak_order {
	uint32_t slot;
	uint32_t question;
	uint64_t stack;	    /* where the program's part of its stack begins; 0 not known */
	uint64_t registers; /* where those are that the program has there */
};

/* A thread of the target waits until its stack, or all that is not heap, has been looked at. */
struct look_order {
	uint32_t slot;
	uint32_t question;
	bool all;
};

/* What was live when somebody asked for it to be kept. */
struct snapshot {
	char name[SEGMENT_MARK_NAME_MAX + 1];
	uint64_t ticks;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint32_t thread; /* index; UINT32_MAX: asked for from outside */
};

#define ACCOUNT_SNAPSHOTS_MAX 4096u

/* Sums that no event has to keep: they follow from the histogram of sizes and what is live. */
struct account_totals {
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
};

/* In place of a live block's size: it is a sample, and this is its number. */
#define ACCOUNT_SAMPLE (UINT64_C(1) << 63)

static inline bool account_is_sample(const struct live_block *block)
{
	return block->size & ACCOUNT_SAMPLE;
}

struct segment_map;
struct tag_counts;

struct account {
	struct live live;
	struct sites sites;
	struct parts parts; /* of sites that several threads use */
	struct threads threads;
	struct lifetimes lifetimes;
	struct series series;
	struct peak peak;
	uint32_t slot_count;
	struct actor *actors;		/* by slot */
	struct text *texts;		/* by slot */
	VEC(struct snapshot) snapshots; /* one for each pin of the series */
	uint64_t lost_snapshots;
	struct sampling_terms small_terms; /* period 0: small objects of Python are no samples */
	struct small small;
	uint32_t clears;	    /* times that figures were to start over */
	uint32_t marks;		    /* snapshots that the target asked for, lost ones too */
	struct trace_writer *trace; /* NULL: none is wanted */
	struct sampling *sampling;  /* NULL: every block is recorded. Owned */
	struct mapped *mapped;	    /* NULL: the program has mapped nothing. Owned */
	const struct ticks *clock;
	uint64_t events;
	uint64_t foreign_frees;
	uint64_t missed_frees; /* an address was given out again: its free was never seen */
	uint64_t api_calls[SEGMENT_API_KINDS];
	uint64_t rss_bytes; /* as last sampled, for the series */

	/* What the program ordered; see obey.h. */
	struct segment_slot *slots; /* where questions are answered; NULL: nowhere */
	/* In tag mode, where the answers are; NULL in others. */
	const struct segment_map *counted_map;
	const struct tag_counts *counted;
	bool is_choosy;	      /* a switch has been used, or there is a threshold */
	bool was_off;	      /* so there may be blocks that were never seen to come */
	struct start *start;  /* recording is off until it is met; NULL: nothing is waited for */
	uint64_t switch_word; /* of all threads */
	uint64_t threshold;
	uint64_t threshold_ticks;
	uint64_t untracked_frees;
	uint64_t cleared_ticks; /* when figures last started over, 0 never */
	uint64_t off_since;	/* ticks: recording is off for all since then */
	uint64_t off_ticks;	/* and was for so long before */
	uint64_t refused_clears;
	VEC(struct write_order) writes;
	VEC(struct leak_order) leak_orders;
	VEC(struct look_order) look_orders;
	struct farewell farewell;
	VEC(struct pool) pools;
};

/* `clock` must outlive the account. */
void account_init(struct account *a, const struct ticks *clock, uint32_t slot_count);
void account_fini(struct account *a);

/* The thread `serial` now acts in `slot`, or no longer does. */
struct thread *account_open_thread(struct account *a, uint32_t slot, uint32_t serial);
void account_close_thread(struct account *a, uint32_t slot);

/* Handles events in order until the state of a block contradicts one (allocated though live,
 * freed though not): another event of the same time may have to go first. Returns the number
 * handled. */
uint32_t account_apply(struct account *a, const struct event *events, uint32_t count);

/* Handles one event whatever the state of its block says. */
void account_force(struct account *a, const struct event *e);

/* Time has come this far: makes a point of the series if one is due. */
void account_pass_time(struct account *a, uint64_t ticks);

/* A second thread allocates at the site: what there is so far becomes the first one's share. */
void account_split_site(struct account *a, uint32_t index);

struct account_totals account_get_totals(const struct account *a);

/* To be called before what threads hold is read. */
void account_settle_threads(struct account *a);

/* Counts a block that is live and in no figure as allocated at this time, by an unknown function.
 */
void account_enter_again(struct account *a, const struct live_block *block, uint64_t ticks);

/* Counts a block, which is off the table, as freed by what the event's thread does. */
void account_leave_for_now(struct account *a, const struct live_block *block,
			   const struct event *e);

/* A block's free was never seen: its address has been given out again at this time. */
void account_miss_free(struct account *a, const struct live_block *stale, uint64_t ticks);

/* The state as a point of the series at this time, and that point added to it. */
void account_add_point(struct account *a, uint64_t ticks);

/* The state as a point of the series at this time. */
struct profile_point account_get_point(const struct account *a, uint64_t ticks);

#endif
