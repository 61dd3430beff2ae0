/* collect.c -- the collector's life: made for a target, run until it is gone, asked how things
 * stand.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/collect.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/account_sampled.h"
#include "collect/collector.h"
#include "collect/keeping.h"
#include "collect/lost.h"
#include "collect/obey.h"
#include "collect/signals.h"
#include "collect/stackdepth.h"
#include "collect/start.h"
#include "collect/tenants.h"

#define MS UINT64_C(1000000)

/* How often to look at what costs a system call. */
#define ALIVE_NS   (5 * MS)
#define THREADS_NS (50 * MS)
/* the same while targets wait: a dead thread may hold what they need */
#define WANTED_CHUNK_NS (1 * MS)
#define RSS_NS_MIN	(10 * MS)
#define RSS_NS_MAX	(100 * MS)
#define EXEC_QUIET_NS	(200 * MS)
#define EXEC_NS		(500 * MS)

/* Pauses. Each round costs about a microsecond however little it finds, so it pays to let events
 * gather; a buffer of 4 MiB holds some 10 ms of pure malloc. */
#define BUSY_EVENTS  8192u
#define BRISK_EVENTS 256u
#define REST_NS_MIN  (MS / 20)
#define BRISK_NS_MAX (MS / 2)
#define CALM_NS_MAX  (2 * MS)
#define IDLE_NS_MAX  (10 * MS)
/* where most calls make no event, and a program that is busy on all cores should not feel us */
#define LIGHT_NS_MAX (20 * MS)
/* Closer together than this on average, events need not each be stamped by the clock. */
#define HURRIED_NS 2000u

/* For an abandoning target whose threads keep writing meanwhile; and for one that is gone but left
 * the segment to somebody who does. */
#define LAST_ROUNDS_MAX 1000
#define GONE_ROUNDS_MAX 16

/* ---- life ------------------------------------------------------------------------------------ */

static void fill_header(struct collector *c, const struct collect_config *config)
{
	struct segment_header *header = c->map.header;

	header->version = SEGMENT_VERSION;
	header->clock = c->clock.kind;
	header->layout = c->map.layout;
	header->clock_base = c->clock.base;
	header->max_depth = config->max_depth;
	header->follow = config->follow;
	header->patience_ms = config->patience_ms;
	header->python = config->python;
	header->pymalloc = config->pymalloc;
	header->collector_pid = getpid();
	header->mode = config->mode;
	header->sample_blocks = config->sample_blocks;
	header->sample_period = account_sampled_get_period(config);
	header->sample_seed = config->sample_seed;
	header->delayed = config->delayed;
	header->maps = config->maps;
	header->enter_exit = config->enter_exit;
	header->snapshot_signal = (uint32_t)config->signal;
	header->leaks = config->leaks;
	if (config->mode != SEGMENT_MODE_TAGS) /* where nobody waits for anything */
		header->looks = config->stacks ? 2 : 1;
	header->farewell = config->surveys && config->mode == SEGMENT_MODE_EXACT;
	header->magic = SEGMENT_MAGIC;
}

struct collector *collect_new(const struct collect_config *config,
			      const struct segment_hello *hello, struct error *e)
{
	struct collector *c = mem_new(1, sizeof(*c));
	uint64_t buffer_bytes = config->buffer_bytes;
	struct segment_layout layout;

	if (segment_map_plan(&layout, &buffer_bytes, hello->address_space_limit, e) ||
	    segment_map_open(&c->map, &layout, e)) {
		free(c);
		return NULL;
	}
	c->hello = *hello;
	c->follow = config->follow;
	c->mode = config->mode;
	c->maps = config->maps;
	c->enter_exit = config->enter_exit;
	c->signals = config->signal != 0;
	c->lost.twin.undertaker = config->undertaker;
	c->lost.halt.resume = c->lost.twin.halt.resume = &c->lost.resume;
	c->surveying = config->surveys && config->mode == SEGMENT_MODE_EXACT;
	ticks_init(&c->clock, ticks_choose(hello->machine));
	account_init(&c->account, &c->clock, layout.slot_count);
	c->account.trace = config->trace;
	c->account.slots = c->map.slots;
	if (config->mode == SEGMENT_MODE_TAGS) {
		c->account.counted_map = &c->map;
		c->account.counted = &c->tags;
	}
	if (config->delayed || config->start)
		obey_delay(&c->account);
	if (config->start)
		c->account.start = start_new(&c->map, config->start);
	streams_init(&c->streams, &c->map, &c->account,
		     (uint32_t)(buffer_bytes / SEGMENT_CHUNK_BYTES));
	watch_open(&c->watch, hello->pid);
	fill_header(c, config);
	account_sampled_plan(&c->account, config);
	c->last_event_ns = clock_monotonic_ns();
	return c;
}

void collect_free(struct collector *c)
{
	if (!c)
		return;
	watch_close(&c->watch);
	lost_fini(&c->lost);
	objects_fini(&c->objects);
	drain_fini(&c->drain);
	tag_counts_fini(&c->tags);
	surveys_fini(&c->surveys);
	streams_fini(&c->streams);
	start_free(c->account.start);
	account_fini(&c->account);
	segment_map_close(&c->map);
	free(c);
}

int collect_get_fd(const struct collector *c)
{
	return c->map.fd;
}

void collect_close_fd(struct collector *c)
{
	segment_map_close_fd(&c->map);
}

void collect_get_status(const struct collector *c, struct collect_status *status)
{
	const struct account *a = &c->account;
	struct account_totals sum = account_get_totals(a);
	uint64_t lost =
		atomic_load_explicit(&c->map.header->losses.lost_events, memory_order_relaxed);

	*status = (struct collect_status){
		.events = a->events,
		.live_bytes = a->peak.live_bytes,
		.live_blocks = a->peak.live_blocks,
		.peak_bytes = a->peak.bytes,
		.allocations = sum.allocations,
		.frees = sum.frees,
		.lost_events = lost + c->streams.retired.lost_events + c->streams.broken +
			       a->missed_frees + c->open_lost,
		.threads_live = c->streams.open,
		.elapsed_ns = ticks_to_ns(&c->clock, collector_get_time(c)),
		.rss_bytes = c->watch.rss_bytes,
		.virtual_bytes = c->watch.virtual_bytes,
	};
}

/* The counts by tag go with the snapshots of this round; who waits for that may go on then. */
static void keep_tags(struct collector *c)
{
	struct segment_header *header = c->map.header;
	const struct account *a = &c->account;

	if (c->tags.clears != a->clears && !a->trace)
		tag_counts_clear(&c->tags, &c->map);
	c->tags.clears = a->clears;
	tag_counts_keep(&c->tags, &c->map, (uint32_t)a->snapshots.count);
	if (c->marks == a->marks + a->clears)
		return;
	c->marks = a->marks + a->clears;
	atomic_store(&header->marks_handled, c->marks);
	(void)syscall(SYS_futex, &header->marks_handled, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint64_t collect_drain(struct collector *c)
{
	drain_begin(&c->drain, &c->streams);
	uint64_t handled = c->signals ? signals_serve(c) : 0;
	handled += drain_end(&c->drain, &c->streams);

	if (c->account.snapshots.count != c->tags.snapshots ||
	    c->account.marks + c->account.clears != c->marks)
		keep_tags(c);
	return handled;
}

static uint64_t count_namesakes(const struct account *a)
{
	const char *name = a->snapshots.at[a->snapshots.count - 1].name;
	uint64_t count = 0;

	for (size_t i = 0; *name && i + 1 < a->snapshots.count; i++)
		count += strcmp(a->snapshots.at[i].name, name) == 0;
	return count;
}

/* As of the last round's limit: all that is earlier is in it, and nothing that is later. */
bool collect_take_snapshot(struct collector *c, const char *name, struct collect_snapshot *kept)
{
	struct account *a = &c->account;

	(void)collect_drain(c);
	if (!keeping_take(a, c->drain.limit, name, UINT32_MAX))
		return false;
	keep_tags(c);
	*kept = (struct collect_snapshot){
		.number = a->snapshots.count,
		.time_ns = ticks_to_ns(&c->clock, c->drain.limit),
		.live_bytes = a->peak.live_bytes,
		.live_blocks = a->peak.live_blocks,
		.namesakes = count_namesakes(a),
	};
	return true;
}

bool collect_take_write(struct collector *c, struct collect_write *wanted)
{
	struct account *a = &c->account;

	if (!a->writes.count)
		return false;
	const struct write_order first = a->writes.at[0];
	*wanted = (struct collect_write){first.path, first.slot, first.question};
	a->writes.count--;
	memmove(a->writes.at, a->writes.at + 1, a->writes.count * sizeof(a->writes.at[0]));
	return true;
}

void collect_answer_write(struct collector *c, const struct collect_write *wanted, bool done)
{
	obey_answer(&c->account, wanted->slot, wanted->question, done);
}

int collect_find_lost(struct collector *c, unsigned leave, struct error *e)
{
	return lost_find(c, leave, e);
}

void collect_forget_lost(struct collector *c)
{
	lost_clear(&c->lost);
}

const char *collect_get_lost_fault(const struct collector *c)
{
	return c->lost.fault;
}

void collect_freeze(struct collector *c)
{
	c->account.trace = NULL;
	ticks_calibrate(&c->clock);
	c->end_ticks = c->drain.limit;
	if (!collect_has_execed(c))
		stackdepth_look(c);
}

/* ---- threads --------------------------------------------------------------------------------- */

bool collect_has_given_name(const struct collector *c)
{
	for (uint32_t slot = 1; slot <= c->streams.used; slot++)
		if (c->streams.at[slot].state != STREAM_CLOSED &&
		    collector_is_main_thread(c, &c->streams.at[slot]) &&
		    atomic_load_explicit(&c->map.slots[slot].named, memory_order_relaxed))
			return true;
	/* Its end may have been seen before that of the process. */
	return threads_has_named(&c->account.threads, (uint32_t)c->watch.pid);
}

static void add_up_open_losses(struct collector *c)
{
	struct stream_losses sum = {0};

	for (uint32_t slot = 1; slot <= c->streams.used; slot++)
		if (c->streams.at[slot].state == STREAM_OPEN)
			streams_add_losses(&sum, &c->map.slots[slot].losses);
	c->open_lost = sum.lost_events;
}

/* ---- looking around -------------------------------------------------------------------------- */

/* True, and the time noted, if `every` has passed since `*last`. */
static bool is_due(uint64_t *last, uint64_t now, uint64_t every)
{
	if (now - *last < every)
		return false;
	*last = now;
	return true;
}

static uint64_t get_rss_interval(const struct collector *c)
{
	uint64_t ns = ticks_to_ns(&c->clock, c->account.series.interval);

	if (ns < RSS_NS_MIN)
		return RSS_NS_MIN;
	return ns > RSS_NS_MAX ? RSS_NS_MAX : ns;
}

static void look_at_memory(struct collector *c, uint64_t now)
{
	if (is_due(&c->last_rss_ns, now, get_rss_interval(c))) {
		watch_sample_rss(&c->watch);
		c->account.rss_bytes = c->watch.rss_bytes;
	}
	if (is_due(&c->last_rss_peak_ns, now, RSS_NS_MAX))
		watch_sample_rss_peak(&c->watch);
}

static void look_at_threads(struct collector *c, uint64_t now)
{
	bool wanted = atomic_load_explicit(&c->map.header->waiting, memory_order_relaxed) != 0;

	if (!is_due(&c->last_threads_ns, now, wanted ? WANTED_CHUNK_NS : THREADS_NS))
		return;
	tenants_find_dead(c);
	tenants_look_at_names(c);
	add_up_open_losses(c);
	ticks_calibrate(&c->clock);
}

static bool has_state(const struct collector *c, enum segment_target_state state)
{
	return atomic_load_explicit(&c->map.header->target_state, memory_order_acquire) == state;
}

/* A target that is slow to begin has not mapped the segment yet. */
static bool has_been_replaced(struct collector *c, uint64_t now)
{
	return !has_state(c, SEGMENT_TARGET_STARTING) && now - c->last_event_ns >= EXEC_QUIET_NS &&
	       is_due(&c->last_exec_ns, now, EXEC_NS) &&
	       !watch_has_segment(&c->watch, c->map.inode);
}

/* What a lone thread of the target may do about its stamps: see capture/stamp.h. */
static void tell_pace(struct collector *c, uint64_t now, uint64_t handled)
{
	bool is_hurried = handled * HURRIED_NS > now - c->last_round_ns;

	if (is_hurried != c->is_hurried)
		atomic_store_explicit(&c->map.header->hurried, is_hurried, memory_order_relaxed);
	c->is_hurried = is_hurried;
	c->last_round_ns = now;
}

/* Whether the recording has ended; COLLECT_END_TICK if not. */
static enum collect_end look_for_end(struct collector *c, uint64_t now, bool idle)
{
	if ((is_due(&c->last_alive_ns, now, ALIVE_NS) || idle) && watch_is_gone(&c->watch))
		return COLLECT_END_GONE;
	if (idle && has_state(c, SEGMENT_TARGET_ENDED))
		return COLLECT_END_GONE; /* all but */
	if ((idle && has_state(c, SEGMENT_TARGET_ABANDONED)) || c->account.live.crowded)
		return COLLECT_END_ABANDONED;
	if (idle && has_been_replaced(c, now))
		return COLLECT_END_EXEC;
	return COLLECT_END_TICK;
}

/* ---- resting --------------------------------------------------------------------------------- */

/* Whoever waits for the program waits for the profile too: its end should not find us asleep. */
static bool is_exiting(const struct collector *c)
{
	int code;

	return collect_find_exit(c, &code);
}

/* Something was published after the last round, or the target exits. Sequentially consistent, after
 * `sleeping` was set: a target that publishes and then reads `sleeping` either sees it set or is
 * seen here. */
static bool has_news(const struct collector *c)
{
	for (uint32_t slot = 1; slot <= c->streams.used; slot++) {
		const struct stream *stream = &c->streams.at[slot];

		if (stream->state == STREAM_OPEN &&
		    atomic_load(&c->map.slots[slot].head) != stream->head)
			return true;
	}
	return atomic_load(&c->map.header->waiting) != 0 || is_exiting(c);
}

static void sleep_until_woken(struct collector *c, uint64_t ns)
{
	struct segment_header *header = c->map.header;
	struct timespec timeout = {.tv_nsec = (long)ns};

	atomic_store(&header->sleeping, 1);
	if (!has_news(c))
		(void)syscall(SYS_futex, &header->sleeping, FUTEX_WAIT, 1, &timeout, NULL, 0);
	atomic_store(&header->sleeping, 0);
}

static uint64_t get_rest_limit(const struct collector *c, uint64_t handled)
{
	if (c->map.header->mode != SEGMENT_MODE_EXACT)
		return LIGHT_NS_MAX;
	if (handled == 0)
		return IDLE_NS_MAX;
	return handled < BRISK_EVENTS ? CALM_NS_MAX : BRISK_NS_MAX;
}

static void nap(uint64_t ns)
{
	struct timespec length = {.tv_nsec = (long)ns};

	(void)nanosleep(&length, NULL);
}

/* Doubles the pause while rounds find little. In a short one the target need not wake us: a
 * system call per chunk would cost it more than the wait. */
static void rest(struct collector *c, uint64_t handled)
{
	uint64_t limit = get_rest_limit(c, handled);

	c->rest_ns = c->rest_ns ? c->rest_ns * 2 : REST_NS_MIN;
	if (c->rest_ns > limit)
		c->rest_ns = limit;
	if (handled >= BUSY_EVENTS) {
		c->rest_ns = 0;
	} else if (is_exiting(c)) {
		watch_sample_rss_peak(&c->watch); /* nobody can ask for it later */
		watch_await_end(&c->watch, c->rest_ns < BRISK_NS_MAX ? c->rest_ns : BRISK_NS_MAX);
	} else if (c->rest_ns > BRISK_NS_MAX) {
		sleep_until_woken(c, c->rest_ns);
	} else if (!atomic_load(&c->map.header->waiting)) {
		nap(c->rest_ns);
	}
	/* Those who wait and have nothing for us are dead, or gone elsewhere, or only say so; the
	 * others say so again. */
	if (handled == 0 && atomic_load(&c->map.header->waiting)) {
		nap(REST_NS_MIN);
		atomic_store(&c->map.header->waiting, 0);
	}
}

bool collect_has_execed(const struct collector *c)
{
	return atomic_load_explicit(&c->map.header->execs, memory_order_relaxed) != 0;
}

bool collect_has_children(const struct collector *c)
{
	return atomic_load_explicit(&c->map.header->children, memory_order_relaxed) != 0;
}

bool collect_has_begun(const struct collector *c)
{
	return !has_state(c, SEGMENT_TARGET_STARTING);
}

bool collect_has_foreign_allocator(const struct collector *c)
{
	return atomic_load_explicit(&c->map.header->foreign_allocator, memory_order_relaxed) != 0;
}

bool collect_has_nothing_entered(const struct collector *c)
{
	struct segment_header *h = c->map.header;

	return c->enter_exit && !atomic_load_explicit(&h->entered, memory_order_relaxed);
}

bool collect_has_reads_denied(const struct collector *c)
{
	return atomic_load_explicit(&c->map.header->reads_denied, memory_order_relaxed) != 0;
}

bool collect_find_exit(const struct collector *c, int *code)
{
	uint32_t said = atomic_load_explicit(&c->map.header->exit_status, memory_order_relaxed);

	*code = (int)(said & 0xff);
	return said & SEGMENT_EXITED;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Nobody serves what the last rounds have brought: who waits for that waits no longer. */
static void refuse_orders(struct collector *c)
{
	struct account *a = &c->account;

	for (size_t i = 0; i < a->look_orders.count; i++)
		obey_answer(a, a->look_orders.at[i].slot, a->look_orders.at[i].question, false);
	a->look_orders.count = 0;
	if (a->leak_orders.count)
		(void)snprintf(c->lost.fault, sizeof(c->lost.fault), "the recording had ended");
	for (size_t i = 0; i < a->leak_orders.count; i++)
		obey_answer(a, a->leak_orders.at[i].slot, a->leak_orders.at[i].question, false);
	a->leak_orders.count = 0;
}

/* Handles all that is left: of a target that goes on, what it has published by now; of one that is
 * gone, everything, and nobody will finish what cannot be read by now. */
static enum collect_end finish(struct collector *c, enum collect_end why)
{
	bool is_gone = why == COLLECT_END_GONE || why == COLLECT_END_EXEC;
	int rounds = why == COLLECT_END_STOPPED ? 1 : is_gone ? GONE_ROUNDS_MAX : LAST_ROUNDS_MAX;

	if (why == COLLECT_END_GONE)
		tenants_look_at_last_name(c);
	while (rounds-- > 0 && collect_drain(c) != 0)
		continue;
	for (uint32_t slot = 1; is_gone && slot <= c->streams.used; slot++)
		streams_abandon_rest(&c->streams, slot);
	refuse_orders(c);
	lost_finish(c);
	add_up_open_losses(c);
	ticks_calibrate(&c->clock);
	c->end_ticks = ticks_get_now(&c->clock);
	return why;
}

enum collect_end collect_run(struct collector *c, uint64_t tick_ns, const volatile bool *stop)
{
	uint64_t start = clock_monotonic_ns();

	c->end_ticks = 0;
	while (!stop || !*stop) {
		uint64_t handled = collect_drain(c);
		uint64_t now = clock_monotonic_ns();

		if (handled)
			c->last_event_ns = now;
		stackdepth_serve(c);
		if (lost_is_called(c))
			lost_serve(c);
		tell_pace(c, now, handled);
		look_at_memory(c, now);
		look_at_threads(c, now);
		enum collect_end end = look_for_end(c, now, handled == 0);
		if (end != COLLECT_END_TICK)
			return finish(c, end);
		if (tick_ns && (now - start >= tick_ns || collector_is_called(c)))
			return COLLECT_END_TICK;
		rest(c, handled);
	}
	return finish(c, COLLECT_END_STOPPED); /* what has been published counts */
}
