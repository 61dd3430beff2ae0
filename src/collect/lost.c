/* lost.c -- which live blocks nothing points to any more, by site. Runs: in the collector process,
 * one thread, when somebody wants to know; the target is stopped for a part of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * While the target is stopped its events are handled to the last and a copy of it is made; all else
 * is done when it goes on, and with a look at new events now and then. Where there can be no copy
 * of which the target would know nothing, its memory is read before it goes on, into a room that
 * was made before, and looked at afterwards; where there is no memory for that, it is looked at at
 * once (see lost_way.h). */
#define _GNU_SOURCE
#include "collect/lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/crew.h"
#include "collect/lost_look.h"
#include "collect/lost_pace.h"
#include "collect/obey.h"
#include "collect/pools.h"
#include "collect/spare.h"
#include "format/clock.h"

#define TRIES_MOST  4			/* to stop it where no block is between two places */
#define AGAIN_NS    2000000L		/* between them */
#define ATTEND_NS   UINT64_C(5000000)	/* there may be many threads */
#define ROUNDS_MOST 1000		/* of events, before a stopped target has no more */
#define FEW_EVENTS  4096		/* are handled in less than a millisecond */
#define BEFORE_MOST 4			/* rounds, before the stop, until there are so few */
#define CREW_BYTES  (UINT64_C(4) << 20) /* less is read before another thread is awake */
#define APART_BYTES (UINT64_C(1) << 20) /* less is read when a copy is there, be it late */

void lost_clear(struct lost *l)
{
	l->rows.count = l->links.count = l->names.count = 0;
	l->ticks = l->pause_ns = l->read_bytes = l->unread_bytes = 0;
	l->flags = 0;
}

static uint64_t count_clears(const struct collector *c)
{
	return c->account.clears - c->account.refused_clears;
}

bool lost_is_known(const struct collector *c)
{
	return c->lost.ticks != 0 && c->lost.clears == count_clears(c);
}

void lost_fini(struct lost *l)
{
	vec_free(&l->rows);
	vec_free(&l->links);
	vec_free(&l->names);
	halt_fini(&l->halt);
	twin_fini(&l->twin);
}

/* ---- the stop -------------------------------------------------------------------------------- */

static void drain_all(struct collector *c)
{
	for (int i = 0; i < ROUNDS_MOST && !deadline_is_over(&c->lost.deadline); i++)
		if (collect_drain(c) == 0)
			return;
}

/* As little as can be is left for the stop. A target that has more to say all the time than can be
 * heard is as far ahead then as it is after each round. */
static int drain_before(const struct look *l, struct error *e)
{
	struct collector *c = l->collector;
	uint64_t took_ns = 0;

	for (int i = 0; i < BEFORE_MOST; i++) {
		uint64_t begin = clock_monotonic_ns();

		if (collect_drain(c) <= FEW_EVENTS)
			return 0;
		took_ns = clock_monotonic_ns() - begin;
	}
	if (took_ns <= deadline_get_left(&c->lost.deadline))
		return 0;
	return lost_pace_refuse_events(l, took_ns, e);
}

/* A block that a realloc is about to move is in no place that we know. */
static bool is_moving(const struct collector *c)
{
	for (uint32_t i = 0; i < c->account.slot_count; i++)
		if (c->account.actors[i].resizing.ptr)
			return true;
	return false;
}

/* Where there are many threads, it takes its time until the last one goes on. */
static void go_on(struct look *l)
{
	struct lost *to = &l->collector->lost;

	halt_end(&to->halt);
	deadline_go_on(&to->deadline);
}

static int let_go_early(struct look *l, const char *before, struct error *e)
{
	go_on(l);
	return lost_pace_give_up(l, before, e);
}

/* Where it cannot be stopped, it is looked at while it runs. */
static int halt_all(struct look *l, struct error *e)
{
	struct collector *c = l->collector;
	struct error unstoppable = {0};
	uint64_t left = deadline_get_left(&c->lost.deadline);

	c->lost.halt.most_ns = left ? left : 1;
	l->halted = halt_start(&c->lost.halt, c->watch.pid, &unstoppable) == 0;
	deadline_stop(&c->lost.deadline, c->lost.halt.since_ns);
	c->lost.deadline.leaving_ns = halt_get_leaving_ns(&c->lost.halt);
	bool is_late = deadline_is_over(&c->lost.deadline);
	if (!l->halted)
		deadline_go_on(&c->lost.deadline);
	return is_late ? let_go_early(l, "all of its threads had stopped", e) : 0;
}

/* -1: it took too long, or would; `e` has it, and the target goes on. */
static int stop(struct look *l, struct error *e)
{
	const struct timespec nap = {.tv_nsec = AGAIN_NS};
	struct collector *c = l->collector;

	for (int i = 0;; i++) {
		if (drain_before(l, e) || halt_all(l, e))
			return -1;
		if (!l->halted)
			return 0;
		drain_all(c);
		if (deadline_is_over(&c->lost.deadline))
			return let_go_early(l, "its last events were handled", e);
		if (!is_moving(c) || i == TRIES_MOST)
			return 0;
		go_on(l);
		(void)nanosleep(&nap, NULL);
	}
}

/* Anonymous memory is where blocks can be, be it in the gaps between files' maps. */
static void expect_blocks(struct look *l)
{
	const struct regions *regions = &l->roots.regions;

	for (size_t i = 0; i < regions->list.count; i++) {
		const struct region *region = &regions->list.at[i];

		if (region_is_anonymous(region) && region->is_writable)
			gather_expect(&l->gather, region->start, region->end);
	}
}

/* A target that is killed meanwhile has a parent who waits for it. */
static void attend(void *context)
{
	struct look *l = context;
	uint64_t now = clock_monotonic_ns();

	if (now - l->attended_ns < ATTEND_NS)
		return;
	l->attended_ns = now;
	halt_attend(&l->collector->lost.halt);
}

static void keep_up(void *context)
{
	const struct look *l = context;

	attend(context);
	(void)collect_drain(l->collector);
}

/* ---- the blocks ------------------------------------------------------------------------------ */

static void add_block(struct reach *r, const struct live_block *block)
{
	uint64_t most = UINT64_MAX - block->ptr;

	/* A sample stands for others, of which nothing is known: what it points to is held. */
	if (r->blocks.count >= REACH_BLOCKS_MOST || account_is_sample(block))
		return;
	*vec_push(&r->blocks) = (struct reach_block){
		.start = block->ptr,
		.size = block->size < most ? block->size : most,
		.site = block->site,
	};
}

static void visit_block(void *context, struct live_block *block)
{
	add_block(context, block);
}

/* As of now: no event may have been handled since the stop. */
static void list_blocks(struct look *l)
{
	struct account *a = &l->collector->account;

	live_visit(&a->live, visit_block, &l->reach);
	for (uint32_t i = 0; i < a->slot_count; i++)
		if (a->actors[i].resizing.ptr)
			add_block(&l->reach, &a->actors[i].resizing);
}

/* Blocks from before a fork, or while recording was off, or whose events were lost, may point to
 * those that we know. */
static bool has_strangers(const struct collector *c)
{
	struct collect_status status;

	collect_get_status(c, &status);
	return c->hello.forked || c->account.was_off || status.lost_events ||
	       atomic_load_explicit(&c->map.header->losses.reentrant_calls, memory_order_relaxed);
}

/* ---- the memory ------------------------------------------------------------------------------ */

static int check_given(const struct look *l, bool given, struct error *e)
{
	if (given)
		return 0;
	return error_set(e,
			 "the kernel does not let us read the memory of process %d "
			 "(kernel.yama.ptrace_scope, or it is not this user's)",
			 (int)l->collector->watch.pid);
}

static int read_part(struct look *l, pid_t pid, enum roots_part part, struct error *e)
{
	roots_list(&l->roots, pid, part);
	return check_given(
		l, gather_read(&l->gather, pid, l->roots.ranges.at, l->roots.ranges.count), e);
}

static int stash_all(struct look *l, struct error *e)
{
	pid_t pid = l->collector->watch.pid;

	roots_list(&l->roots, pid, ROOTS_ALL);
	return check_given(
		l,
		gather_stash(&l->gather, &l->stash, pid, l->roots.ranges.at, l->roots.ranges.count),
		e);
}

/* What the copy does not have. Most often that is nothing, or a page of the C library's: when the
 * fork has taken too long, it would be in vain to give up for that. */
static int read_apart(struct look *l, struct error *e)
{
	pid_t pid = l->collector->watch.pid;
	struct deadline *deadline = &l->collector->lost.deadline;
	const struct roots *r = &l->roots;

	deadline_read(deadline);
	l->gather.deadline = roots_add_up(r) < APART_BYTES ? NULL : deadline;
	bool given = gather_read(&l->gather, pid, r->ranges.at, r->ranges.count);
	go_on(l);
	if (l->gather.is_late)
		return lost_pace_give_up(l, "all of its memory was read", e);
	return check_given(l, given, e);
}

/* The target goes on, and its events are handled from then on: they come faster than memory is
 * read. */
static int read_copy(struct look *l, struct error *e)
{
	struct collector *c = l->collector;
	int result = read_apart(l, e);

	twin_settle(&c->lost.twin); /* at once: until then it shares the program's descriptors */
	list_blocks(l);
	l->gather.pulse = keep_up;
	if (result == 0)
		result = read_part(l, c->lost.twin.pid, ROOTS_COPIED, e);
	if (result == 0 && !twin_is_alive(&c->lost.twin)) {
		c->lost.twin.why = "its copy was killed";
		result = error_set(e, "the copy of process %d was killed", (int)c->watch.pid);
	}
	twin_end(&c->lost.twin);
	(void)twin_bury(&c->lost.twin, c->watch.pid);
	return result;
}

/* The target may change it at any time, to its own harm. */
static struct comeback read_way(const struct segment_header *header)
{
	return (struct comeback){__atomic_load_n(&header->comeback.fork, __ATOMIC_RELAXED),
				 __atomic_load_n(&header->comeback.call, __ATOMIC_RELAXED),
				 __atomic_load_n(&header->comeback.room, __ATOMIC_RELAXED)};
}

/* The target waits for all of it, or until it is in the stash. */
static int read_target(struct look *l, struct error *e)
{
	struct collector *c = l->collector;

	deadline_read(&c->lost.deadline);
	l->gather.deadline = &c->lost.deadline;
	int result = l->stash.room ? stash_all(l, e) : read_part(l, c->watch.pid, ROOTS_ALL, e);

	halt_attend(&c->lost.halt);
	if (result == 0 && watch_is_gone(&c->watch))
		result = error_set(e, "it was killed"); /* and some of its memory not read */
	go_on(l);
	if (result == 0 && (l->gather.is_late || l->roots.is_cut))
		result = lost_pace_give_up(l, "all of its memory was read", e);
	if (result)
		return result;
	list_blocks(l);
	l->gather.pulse = keep_up;
	if (l->stash.room)
		gather_sift(&l->gather, &l->stash);
	stash_close(&l->stash);
	return 0;
}

static bool make_copy(struct look *l)
{
	struct collector *c = l->collector;
	struct twin *t = &c->lost.twin;

	if (!lost_pace_is_by_copy(l) || !l->halted || l->roots.is_guarded || t->dead)
		return false;
	t->way = read_way(c->map.header);
	return twin_make(t, &c->lost.halt, &l->roots.regions, c->watch.pid);
}

static int read_memory(struct look *l, struct error *e)
{
	struct collector *c = l->collector;
	const struct halt *h = l->halted ? &c->lost.halt : NULL;

	l->roots.deadline = &c->lost.deadline;
	if (roots_plan(&l->roots, h, c->watch.pid, e)) {
		go_on(l);
		return -1;
	}
	expect_blocks(l);
	/* Here, as it is too late to give up when there is a copy. */
	if (lost_pace_is_by_copy(l))
		roots_list(&l->roots, c->watch.pid, ROOTS_APART);
	if (deadline_is_over(&c->lost.deadline))
		return let_go_early(l, "its maps were read", e);
	l->is_copied = make_copy(l);
	if (l->is_copied)
		return read_copy(l, e);
	/* It is better stopped a second time than for long. */
	if (lost_pace_is_by_copy(l) && l->has_other && l->halted) {
		go_on(l);
		l->is_ended = true;
		return -1;
	}
	return read_target(l, e);
}

/* ---- before the stop ------------------------------------------------------------------------- */

/* Room for all that would be read now. */
static bool open_stash(struct look *l)
{
	roots_list(&l->roots, l->collector->watch.pid, ROOTS_ALL);
	if (!stash_open(&l->stash, roots_add_up(&l->roots), spare_read_bytes(NULL)))
		return false;
	/* For a large target that takes seconds, in which its events must not pile up. */
	l->gather.pulse = keep_up;
	gather_touch(&l->gather, &l->stash);
	l->gather.pulse = attend;
	return true;
}

/* Whether there will be a copy, by all that can be seen. */
static bool foresee_copy(struct look *l)
{
	struct twin *t = &l->collector->lost.twin;

	t->only_sibling = l->way == LOST_SIBLING;
	bool is_foreseen = twin_prepare(t, &l->roots.regions, l->collector->watch.pid);
	if (!l->roots.is_guarded)
		return is_foreseen && lost_pace_allows_fork(l);
	if (is_foreseen || t->needs_leave)
		t->why = "it has a userfaultfd that is asked about forks";
	t->needs_leave = false; /* which would be of no use */
	return false;
}

/* What can be done while it runs. False: this way leads nowhere. */
static bool prepare(struct look *l)
{
	struct collector *c = l->collector;
	struct error ignored = {0};

	watch_sample_rss(&c->watch);
	c->lost.deadline.bytes = c->watch.rss_bytes;
	roots_prepare(&l->roots, &c->map, c->watch.pid);
	uint64_t begin = clock_monotonic_ns();
	(void)roots_plan(&l->roots, NULL, c->watch.pid, &ignored);
	l->planning_ns = clock_monotonic_ns() - begin;
	if (lost_pace_is_by_copy(l) && !foresee_copy(l) && l->has_other)
		return false;
	if (c->watch.rss_bytes >= CREW_BYTES)
		crew_call(&l->gather.crew);
	if (l->way == LOST_LATER && !open_stash(l))
		return false;
	expect_blocks(l); /* as in the stop: its time is foreseen by what is done in it */
	return lost_pace_is_good(l);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What is as of the stop. */
static void note_moment(struct look *l)
{
	struct lost *to = &l->collector->lost;

	to->ticks = l->collector->drain.limit ? l->collector->drain.limit : 1;
	to->clears = count_clears(l->collector);
	l->has_strangers = has_strangers(l->collector);
	to->flags = (l->halted ? 0u : (unsigned)PROFILE_LOST_MOVING) |
		    (l->has_strangers ? (unsigned)PROFILE_LOST_STRANGERS : 0u);
}

static void note_reading(const struct look *l)
{
	struct lost *to = &l->collector->lost;

	to->pause_ns = to->deadline.stopped_ns;
	if (l->is_copied)
		to->flags |= PROFILE_LOST_COPIED;
	if (l->way == LOST_LATER)
		to->flags |= PROFILE_LOST_LATER;
	for (uint32_t i = 0; i < l->gather.part_count; i++) {
		to->read_bytes += l->gather.parts[i].read_bytes;
		to->unread_bytes += l->gather.parts[i].unread_bytes;
	}
}

static int look(struct look *l, struct error *e)
{
	struct collector *c = l->collector;

	if (!prepare(l)) {
		l->is_ended = true;
		return l->way == LOST_NOW ? lost_pace_refuse(l, e) : -1;
	}
	if (lost_pace_check_maps(l, e) || stop(l, e))
		return -1;
	note_moment(l);
	if (read_memory(l, e))
		return -1;
	note_reading(l);
	keep_up(l);
	gather_sort(&l->gather);
	reach_sort(&l->reach);
	keep_up(l);
	roots_settle(&l->roots, &l->reach);
	lost_look_link(l);
	reach_run(&l->reach);
	keep_up(l);
	lost_look_sum(l, &c->lost);
	if (!lost_is_known(c))
		return error_set(e, "the program has cleared its figures meanwhile");
	return 0;
}

static int check_possible(const struct collector *c, struct error *e)
{
	if (c->mode != SEGMENT_MODE_EXACT)
		return error_set(e, "what is lost can be told in exact mode only, where every "
				    "block is known");
	if (!ticks_is_own(c->hello.machine))
		return error_set(e, "what is lost cannot be told of a program of another "
				    "architecture");
	return 0;
}

/* 0, -1 with `e`, or 1: not by this way, but perhaps by another. The kernel may kill a copy, or not
 * let us read it. */
static int try_look(struct collector *c, const enum lost_way *way, struct error *e)
{
	struct look *l = mem_new(1, sizeof(*l));

	lost_clear(&c->lost);
	l->collector = c;
	l->way = *way;
	/* To look now may be too long for the same stop. */
	l->has_other = *way != LOST_NOW && (way[1] != LOST_NOW || !c->lost.deadline.is_open);
	l->roots.exit_stack = c->lost.exit_stack;
	l->roots.exit_registers = c->lost.exit_registers;
	l->reach.accepts = lost_look_accept;
	l->reach.pulse = keep_up;
	l->reach.context = l;
	l->gather.pulse = attend; /* no event may be handled while it is stopped */
	l->gather.context = l;
	int result = look(l, e);
	if (result)
		lost_clear(&c->lost);
	if (result && !l->is_late && (l->is_ended || (l->is_copied && !l->reach.classes)))
		result = 1;
	roots_fini(&l->roots);
	gather_fini(&l->gather);
	stash_close(&l->stash);
	reach_fini(&l->reach);
	free(l);
	return result;
}

static int find(struct collector *c, const enum lost_way *ways, struct error *e)
{
	int result = 1;

	lost_clear(&c->lost);
	c->lost.expected_ns = 0;
	c->lost.twin.why = NULL;
	c->lost.twin.needs_leave = false;
	if (check_possible(c, e))
		return -1;
	for (; result == 1; ways++) {
		*e = (struct error){0};
		if (!halt_settle(&c->lost.halt))
			return error_set(e, "the last look has not ended yet");
		result = try_look(c, ways, e);
		if (*ways == LOST_NOW)
			break;
	}
	return result ? -1 : 0;
}

/* What failed with a target that is gone is of no interest. */
static int find_or_tell(struct collector *c, const enum lost_way *ways, struct error *e)
{
	int result = find(c, ways, e);

	if (result == 0 || !watch_is_gone(&c->watch))
		return result;
	*e = (struct error){0};
	return error_set(e, "process %d has ended meanwhile", (int)c->watch.pid);
}

int lost_find(struct collector *c, unsigned leave, struct error *e)
{
	(void)twin_bury(&c->lost.twin, c->watch.pid);
	c->lost.exit_stack = 0;
	deadline_start(&c->lost.deadline, c->watch.rss_bytes, leave & COLLECT_LONG_STOP);
	return find_or_tell(c, lost_way_choose(c->watch.rss_bytes, leave & COLLECT_CHILD_COPY), e);
}

bool lost_is_called(const struct collector *c)
{
	return c->account.leak_orders.count || c->lost.halt.threads.count ||
	       twin_is_unburied(&c->lost.twin) || c->lost.twin.halt.threads.count;
}

void lost_finish(struct collector *c)
{
	(void)halt_settle(&c->lost.halt);
	twin_bury_last(&c->lost.twin, c->watch.pid);
}

void lost_serve(struct collector *c)
{
	const enum lost_way at_exit[] = {LOST_NOW}; /* it waits: nothing is gained by others */
	struct account *a = &c->account;

	(void)halt_settle(&c->lost.halt);
	(void)twin_bury(&c->lost.twin, c->watch.pid);
	while (a->leak_orders.count) {
		struct leak_order order = a->leak_orders.at[--a->leak_orders.count];
		struct error e = {0};

		deadline_start(&c->lost.deadline, c->watch.rss_bytes, true);
		c->lost.exit_stack = order.stack;
		c->lost.exit_registers = order.registers;
		bool done = find_or_tell(c, at_exit, &e) == 0;

		(void)snprintf(c->lost.fault, sizeof(c->lost.fault), "%s", e.text);
		if (done)
			c->lost.flags |= PROFILE_LOST_AT_EXIT;
		obey_answer(a, order.slot, order.question, done);
	}
}
