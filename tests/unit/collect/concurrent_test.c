/* concurrent_test.c -- several threads that allocate, hand blocks to each other, free and
 * realloc at random, against a reference made of their own logs. Runs: as a test program; under
 * ThreadSanitizer too.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <pthread.h>

#include "producer.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

enum { THREADS = 4, STEPS = 20000, ADDRESSES = 200, NODES = 10 };

struct block {
	uint64_t ptr;
	uint64_t size;
	uint32_t node;
	uint32_t thread;
};

/* One entry per change of the heap: at `ticks`, `added` came at `node` and `removed` went from
 * `from`. */
struct change {
	uint64_t ticks;
	uint64_t added;
	uint64_t removed;
	uint32_t node;
	uint32_t from;
	int blocks;
};

/* The heap that the threads share: addresses come back as soon as they are freed, as malloc's
 * do. */
struct heap {
	struct collector *c;
	pthread_mutex_t lock;
	uint64_t addresses[ADDRESSES];
	unsigned address_count;
	struct block live[ADDRESSES];
	unsigned live_count;
};

struct worker {
	struct heap *heap;
	struct producer p;
	uint32_t serial;
	uint64_t random;
	uint64_t allocations, allocated_bytes, frees, freed_bytes, reallocations;
	struct change log[STEPS * 2];
	unsigned log_count;
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static uint64_t now(struct worker *w)
{
	return ticks_get_now(&w->heap->c->clock);
}

/* Leaves at least `rest`. */
static bool take_address(struct heap *h, uint64_t *ptr, unsigned rest)
{
	pthread_mutex_lock(&h->lock);
	bool some = h->address_count > rest;
	if (some)
		*ptr = h->addresses[--h->address_count];
	pthread_mutex_unlock(&h->lock);
	return some;
}

static void give_address(struct heap *h, uint64_t ptr)
{
	pthread_mutex_lock(&h->lock);
	h->addresses[h->address_count++] = ptr;
	pthread_mutex_unlock(&h->lock);
}

static void hand_on(struct heap *h, struct block block)
{
	pthread_mutex_lock(&h->lock);
	h->live[h->live_count++] = block;
	pthread_mutex_unlock(&h->lock);
}

/* Any live block, whoever allocated it. */
static bool take_block(struct worker *w, struct block *block)
{
	struct heap *h = w->heap;

	pthread_mutex_lock(&h->lock);
	bool some = h->live_count > 0;
	if (some) {
		unsigned i = (unsigned)(next_random(w) % h->live_count);

		*block = h->live[i];
		h->live[i] = h->live[--h->live_count];
	}
	pthread_mutex_unlock(&h->lock);
	return some;
}

static struct block make_block(struct worker *w, uint64_t ptr)
{
	return (struct block){
		.ptr = ptr,
		.size = next_random(w) % 5000,
		.node = 1 + (uint32_t)(next_random(w) % NODES),
		.thread = w->serial,
	};
}

/* Stamped after the address was got, published before anyone hears of it. */
static void do_alloc(struct worker *w)
{
	uint64_t ptr;

	if (!take_address(w->heap, &ptr, 1)) /* or a realloc might wait for ever */
		return;
	struct block b = make_block(w, ptr);
	uint64_t ticks = now(w);
	producer_alloc(&w->p, ticks, b.ptr, b.size, b.node);
	w->allocations++;
	w->allocated_bytes += b.size;
	w->log[w->log_count++] = (struct change){ticks, b.size, 0, b.node, b.node, 1};
	hand_on(w->heap, b);
}

/* Stamped and published before the address is given back. */
static void do_free(struct worker *w)
{
	struct block b;

	if (!take_block(w, &b))
		return;
	uint64_t ticks = now(w);
	producer_free(&w->p, ticks, b.ptr);
	w->frees++;
	w->freed_bytes += b.size;
	w->log[w->log_count++] = (struct change){ticks, 0, b.size, b.node, b.node, -1};
	give_address(w->heap, b.ptr);
}

static void do_realloc(struct worker *w)
{
	struct block b;
	uint64_t ptr;

	if (!take_block(w, &b))
		return;
	producer_resize(&w->p, now(w), b.ptr);
	give_address(w->heap, b.ptr);
	while (!take_address(w->heap, &ptr, 0))
		continue;
	struct block moved = make_block(w, ptr);
	uint64_t ticks = now(w);
	producer_resized(&w->p, ticks, ptr, moved.size, moved.node);
	w->allocations++;
	w->allocated_bytes += moved.size;
	w->frees++;
	w->freed_bytes += b.size;
	w->reallocations++;
	w->log[w->log_count++] = (struct change){ticks, moved.size, b.size, moved.node, b.node, 0};
	hand_on(w->heap, moved);
}

static void *work(void *argument)
{
	struct worker *w = argument;

	w->p = producer_open(w->heap->c, w->serial);
	for (int i = 0; i < STEPS; i++) {
		uint64_t what = next_random(w) % 10;

		if (what < 5)
			do_alloc(w);
		else if (what < 9)
			do_free(w);
		else
			do_realloc(w);
	}
	producer_end(&w->p, now(w));
	return NULL;
}

struct race {
	struct heap heap;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
};

static struct race *start_race(uint64_t buffer_bytes)
{
	struct collect_config config = {.buffer_bytes = buffer_bytes};
	struct segment_hello hello = {
		.machine = OWN_MACHINE, .pid = getpid(), .address_space_limit = UINT64_MAX};
	struct error e = {0};
	struct race *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->heap.c = collect_new(&config, &hello, &e);
	assert_non_null(r->heap.c);
	for (uint32_t i = 0; i < NODES; i++)
		assert_int_equal(producer_add_node(r->heap.c, i, 0x1000 + i, 0), i + 1);
	pthread_mutex_init(&r->heap.lock, NULL);
	for (uint64_t i = 0; i < ADDRESSES; i++)
		give_address(&r->heap, 0x10000 + i * 16);
	for (uint32_t i = 0; i < THREADS; i++) {
		r->workers[i] = (struct worker){.heap = &r->heap, .serial = i + 1};
		r->workers[i].random = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
		assert_int_equal(pthread_create(&r->threads[i], NULL, work, &r->workers[i]), 0);
	}
	return r;
}

static void join_race(struct race *r)
{
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(r->threads[i], NULL), 0);
}

static void end_race(struct race *r)
{
	collect_free(r->heap.c);
	free(r);
}

/* ---- the reference --------------------------------------------------------------------------- */

static void check_totals(const struct race *r, const struct profile *p)
{
	uint64_t allocations = 0, bytes = 0, frees = 0, freed = 0, reallocations = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct worker *w = &r->workers[i];

		assert_int_equal(p->threads.at[i].serial, w->serial);
		assert_int_equal(p->threads.at[i].allocations, w->allocations);
		assert_int_equal(p->threads.at[i].allocated_bytes, w->allocated_bytes);
		assert_int_equal(p->threads.at[i].frees, w->frees);
		assert_int_equal(p->threads.at[i].freed_bytes, w->freed_bytes);
		assert_int_equal(p->threads.at[i].reallocations, w->reallocations);
		assert_int_not_equal(p->threads.at[i].end_ns, UINT64_MAX);
		allocations += w->allocations;
		bytes += w->allocated_bytes;
		frees += w->frees;
		freed += w->freed_bytes;
		reallocations += w->reallocations;
	}
	assert_int_equal(p->totals.lost_events, 0);
	assert_int_equal(p->totals.foreign_frees, 0);
	assert_int_equal(p->totals.allocations, allocations);
	assert_int_equal(p->totals.allocated_bytes, bytes);
	assert_int_equal(p->totals.frees, frees);
	assert_int_equal(p->totals.freed_bytes, freed);
	assert_int_equal(p->totals.reallocations, reallocations);
	assert_int_equal(p->totals.leaked_blocks, r->heap.live_count);
}

/* What is left belongs to the right site and the right thread. */
static void check_leaks(const struct race *r, const struct profile *p)
{
	uint64_t by_node[NODES + 1] = {0}, by_thread[THREADS + 1] = {0};

	for (unsigned i = 0; i < r->heap.live_count; i++) {
		by_node[r->heap.live[i].node] += r->heap.live[i].size;
		by_thread[r->heap.live[i].thread] += r->heap.live[i].size;
	}
	assert_int_equal(p->sites.count, NODES);
	for (size_t i = 0; i < p->sites.count; i++) {
		uint64_t node = p->nodes.at[p->sites.at[i].node].pc - 0x1000 + 1;

		assert_int_equal(p->sites.at[i].live_bytes, by_node[node]);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(p->threads.at[i].live_bytes, by_thread[i + 1]);
}

/* Shares of the peak add up to it, whichever way they are cut. */
static void check_shares(const struct profile *p)
{
	uint64_t sites = 0, site_blocks = 0, threads = 0, thread_blocks = 0;

	for (size_t i = 0; i < p->sites.count; i++) {
		sites += p->sites.at[i].at_peak_bytes;
		site_blocks += p->sites.at[i].at_peak_blocks;
	}
	for (size_t i = 0; i < p->threads.count; i++) {
		threads += p->threads.at[i].at_peak_bytes;
		thread_blocks += p->threads.at[i].at_peak_blocks;
	}
	assert_int_equal(sites, p->totals.peak_bytes);
	assert_int_equal(threads, p->totals.peak_bytes);
	assert_int_equal(site_blocks, p->totals.peak_blocks);
	assert_int_equal(thread_blocks, p->totals.peak_blocks);
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* The peak by time, from all logs put together. */
static void check_peak(const struct race *r, const struct profile *p)
{
	struct change *all = calloc(THREADS * STEPS * 2, sizeof(*all));
	size_t count = 0;
	uint64_t live = 0, blocks = 0, peak = 0, peak_blocks = 0, ties = 0;
	uint64_t at_node[NODES + 1] = {0}, at_peak[NODES + 1] = {0};

	assert_non_null(all);
	for (int i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < r->workers[i].log_count; k++)
			all[count++] = r->workers[i].log[k];
	qsort(all, count, sizeof(*all), compare_changes);
	for (size_t i = 0; i < count; i++) {
		ties += i && all[i].ticks == all[i - 1].ticks;
		live += all[i].added - all[i].removed;
		blocks += (uint64_t)all[i].blocks;
		at_node[all[i].from] -= all[i].removed;
		at_node[all[i].node] += all[i].added;
		if (live > peak) {
			peak = live;
			peak_blocks = blocks;
			memcpy(at_peak, at_node, sizeof(at_peak));
		}
	}
	free(all);
	if (ties)
		return; /* a coarse clock leaves more than one order */
	assert_int_equal(p->totals.peak_bytes, peak);
	assert_int_equal(p->totals.peak_blocks, peak_blocks);
	for (size_t i = 0; i < p->sites.count; i++)
		assert_int_equal(p->sites.at[i].at_peak_bytes,
				 at_peak[p->nodes.at[p->sites.at[i].node].pc - 0x1000 + 1]);
}

static void drained_afterwards_every_figure_is_the_references(void **state)
{
	struct race *r = start_race(16 << 20); /* room for all events */

	(void)state;
	join_race(r);
	collect_drain(r->heap.c);
	struct profile *p = collect_build_profile(r->heap.c);
	check_totals(r, p);
	check_leaks(r, p);
	check_shares(p);
	check_peak(r, p);
	profile_free(p);
	end_race(r);
}

static void drained_meanwhile_nothing_is_lost_or_taken_for_foreign(void **state)
{
	struct race *r = start_race(1 << 20);
	struct collect_status status;
	uint64_t changes;

	(void)state;
	do { /* until all threads have come and gone */
		collect_drain(r->heap.c);
		collect_get_status(r->heap.c, &status);
		changes = r->heap.c->account.threads.list.count;
	} while (changes < THREADS || status.threads_live);
	join_race(r);
	collect_drain(r->heap.c);
	struct profile *p = collect_build_profile(r->heap.c);
	check_totals(r, p);
	check_leaks(r, p);
	check_shares(p);
	profile_free(p);
	end_race(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drained_afterwards_every_figure_is_the_references),
		cmocka_unit_test(drained_meanwhile_nothing_is_lost_or_taken_for_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
