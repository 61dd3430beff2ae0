/* collector.h -- the whole collector, for the files of this room that make and read it.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_COLLECTOR_H
#define MIDDEN_COLLECT_COLLECTOR_H

#include "collect/account.h"
#include "collect/collect.h"
#include "collect/drain.h"
#include "collect/lost.h"
#include "collect/objects.h"
#include "collect/segment_map.h"
#include "collect/streams.h"
#include "collect/survey.h"
#include "collect/tag_counts.h"
#include "collect/ticks.h"
#include "collect/watch.h"

struct collector {
	struct segment_hello hello;
	bool follow;
	struct segment_map map;
	struct ticks clock;
	struct account account;
	struct streams streams;
	struct drain drain;
	struct tag_counts tags;
	struct surveys surveys;
	bool surveying;	 /* snapshots are to be told of at once: see survey.h */
	uint32_t told;	 /* of them */
	uint32_t mode;	 /* enum segment_mode */
	bool maps;	 /* those of the program are recorded */
	bool enter_exit; /* instrumented functions are to say that they are entered */
	bool signals;	 /* one that the program gets asks for snapshots */
	uint32_t marks;	 /* of the target's, handled */
	struct watch watch;
	struct lost lost;
	struct objects objects;
	uint64_t open_lost; /* events lost by live threads, as last looked up */
	uint64_t end_ticks; /* when the recording ended; 0: it goes on */
	/* CLOCK_MONOTONIC of when something was last done or seen. */
	uint64_t last_event_ns;
	uint64_t last_round_ns;
	bool is_hurried;
	uint64_t last_alive_ns;
	uint64_t last_threads_ns;
	uint64_t last_rss_ns;
	uint64_t last_rss_peak_ns;
	uint64_t last_exec_ns;
	uint64_t rest_ns; /* how long the last pause was */
};

static inline bool collector_is_main_thread(const struct collector *c, const struct stream *stream)
{
	return c->watch.shares_tids ? stream->tid == (uint32_t)c->watch.pid : stream->serial == 1;
}

/* Whether somebody waits for what only the caller of collect_run can do. */
static inline bool collector_is_called(const struct collector *c)
{
	return c->account.writes.count || c->account.farewell.question ||
	       (c->surveying && c->account.snapshots.count != c->told);
}

/* The time that figures are as of: now, or the end of the recording. */
static inline uint64_t collector_get_time(const struct collector *c)
{
	return c->end_ticks ? c->end_ticks : ticks_get_now(&c->clock);
}

#endif
