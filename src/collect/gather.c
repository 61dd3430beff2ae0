/* gather.c -- the words of a process's memory that may be pointers to its heap.
 * Runs: in the collector process, on some of the machine's cores; the target is stopped, or what is
 * read is a copy of it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/gather.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pages.h"

#define SPAN_SHIFT     20u
#define SPAN_BITS      (sizeof(((struct gather *)0)->heap) * 8)
#define CHUNK_WORDS    (GATHER_CHUNK_BYTES / sizeof(uint64_t))
#define PARALLEL_BYTES (UINT64_C(16) << 20) /* less is read before a thread has begun */
#define PULSE_CHUNKS   4u		    /* a millisecond */
#define PAGE_BYTES     4096u /* none is smaller: what to leave out where one is missing */

/* Which chunks of which ranges are left, for all threads. */
struct work {
	struct gather *gather;
	pid_t pid;
	const struct gather_range *ranges;
	size_t count;
	uint64_t *firsts;      /* by range: the number of its first chunk */
	uint64_t chunks;       /* in all */
	_Atomic uint64_t next; /* chunk that nobody has taken; relaxed: a number and no more */
	_Atomic uint32_t denied;
};

struct worker {
	struct work *work;
	pthread_t thread;
	uint32_t part;
	bool runs;
};

void gather_expect(struct gather *g, uint64_t start, uint64_t end)
{
	if (end <= start)
		return;
	if (!g->heap_high || start < g->heap_low)
		g->heap_low = start;
	if (end > g->heap_high)
		g->heap_high = end;
	uint64_t first = start >> SPAN_SHIFT, last = (end - 1) >> SPAN_SHIFT;
	if (last - first >= SPAN_BITS)
		last = first + SPAN_BITS - 1; /* all of them */
	for (uint64_t span = first; span <= last; span++)
		g->heap[span % SPAN_BITS / 64] |= UINT64_C(1) << span % 64;
}

static inline bool is_expected(const struct gather *g, uint64_t word)
{
	uint64_t span = word >> SPAN_SHIFT;

	return word - g->heap_low < g->heap_high - g->heap_low &&
	       g->heap[span % SPAN_BITS / 64] >> span % 64 & 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The chunk's bytes as far as they can be had; what cannot is left 0 and counted. */
static void read_chunk(struct work *w, struct gather_part *part, const struct gather_range *chunk,
		       uint64_t *words)
{
	uint64_t at = chunk->start;

	while (at < chunk->end) {
		char *to = (char *)words + (at - chunk->start);
		struct iovec local = {.iov_base = to, .iov_len = chunk->end - at};
		struct iovec remote = {.iov_base = (void *)(uintptr_t)at, /* NOLINT */
				       .iov_len = chunk->end - at};
		ssize_t got = process_vm_readv(w->pid, &local, 1, &remote, 1, 0);

		if (got > 0) {
			at += (uint64_t)got;
			part->read_bytes += (uint64_t)got;
			continue;
		}
		if (got < 0 && errno == EPERM)
			atomic_store_explicit(&w->denied, 1, memory_order_relaxed);
		uint64_t next = (at & ~(uint64_t)(PAGE_BYTES - 1)) + PAGE_BYTES;
		next = next < chunk->end ? next : chunk->end;
		__builtin_memset(to, 0, next - at);
		part->unread_bytes += next - at;
		at = next;
	}
}

/* The upper halves of two words at once, among what the compiler makes of the lower ones. */
typedef uint32_t lanes __attribute__((vector_size(16)));

#define AT_ONCE 8u

struct sieve {
	lanes low;
	lanes range;
};

static struct sieve build_sieve(const struct gather *g)
{
	uint32_t low = (uint32_t)(g->heap_low >> 32);
	uint32_t range = (uint32_t)(g->heap_high >> 32) - low;

	return (struct sieve){{low, low, low, low}, {range, range, range, range}};
}

/* Whether any of eight words can be a pointer. Most memory has none for long stretches, and this is
 * 2.5 times as fast as looking at each: the target waits. */
static inline bool has_any(const struct sieve *s, const uint64_t *words)
{
	const lanes *at = (const lanes *)(const void *)words;
	lanes within = (lanes)(at[0] - s->low <= s->range) | (lanes)(at[1] - s->low <= s->range) |
		       (lanes)(at[2] - s->low <= s->range) | (lanes)(at[3] - s->low <= s->range);

	return (within[1] | within[3]) != 0;
}

static void keep_pointers(const struct gather *g, struct gather_part *part,
			  const struct gather_range *chunk, const uint64_t *words)
{
	size_t count = (chunk->end - chunk->start) / sizeof(*words);
	uint64_t first = part->values.count;
	struct sieve sieve = build_sieve(g);

	vec_reserve(&part->values, count);
	vec_reserve(&part->places, count);
	uint64_t *values = part->values.at + first;
	uint16_t *places = part->places.at + first;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (i % AT_ONCE == 0 && i + AT_ONCE <= count && !has_any(&sieve, words + i)) {
			i += AT_ONCE - 1;
			continue;
		}
		if (!is_expected(g, words[i]))
			continue;
		values[kept] = words[i];
		places[kept++] = (uint16_t)i;
	}
	part->values.count += kept;
	part->places.count += kept;
	if (kept)
		*vec_push(&part->runs) = (struct gather_run){
			.address = chunk->start,
			.first = first,
			.count = (uint32_t)kept,
			.part = (uint32_t)(part - g->parts),
		};
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t count_chunks(const struct gather_range *range)
{
	return (range->end - range->start + GATHER_CHUNK_BYTES - 1) / GATHER_CHUNK_BYTES;
}

static size_t find_range(const struct work *w, uint64_t chunk)
{
	size_t low = 0, high = w->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (w->firsts[middle] <= chunk)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool take_chunk(struct work *w, struct gather_range *chunk)
{
	uint64_t number = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);

	if (number >= w->chunks || atomic_load_explicit(&w->denied, memory_order_relaxed))
		return false;
	size_t range = find_range(w, number);
	chunk->start = w->ranges[range].start + (number - w->firsts[range]) * GATHER_CHUNK_BYTES;
	chunk->end = chunk->start + GATHER_CHUNK_BYTES;
	if (chunk->end > w->ranges[range].end)
		chunk->end = w->ranges[range].end;
	return true;
}

static void *work_on(void *context)
{
	struct worker *self = context;
	struct work *w = self->work;
	struct gather_part *part = &w->gather->parts[self->part];
	uint64_t *words = pages_new(GATHER_CHUNK_BYTES);
	struct gather_range chunk;

	for (uint32_t i = 1; take_chunk(w, &chunk); i++) {
		read_chunk(w, part, &chunk, words);
		keep_pointers(w->gather, part, &chunk, words);
		/* The collector's first thread has other things to do. */
		if (self->part == 0 && w->gather->pulse && i % PULSE_CHUNKS == 0)
			w->gather->pulse(w->gather->context);
	}
	pages_free(words, GATHER_CHUNK_BYTES);
	return NULL;
}

/* Signals are the collector's first thread's to take. */
static void start_worker(struct worker *worker)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	worker->runs = pthread_create(&worker->thread, NULL, work_on, worker) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static uint32_t choose_workers(const struct work *w)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 2 || w->chunks * GATHER_CHUNK_BYTES < PARALLEL_BYTES)
		return 1;
	return cores < (long)GATHER_PARTS_MOST ? (uint32_t)cores : GATHER_PARTS_MOST;
}

static void run_workers(struct work *w)
{
	struct worker workers[GATHER_PARTS_MOST];
	uint32_t count = choose_workers(w);

	if (w->gather->part_count < count)
		w->gather->part_count = count;
	for (uint32_t i = 0; i < count; i++)
		workers[i] = (struct worker){.work = w, .part = i};
	for (uint32_t i = 1; i < count; i++)
		start_worker(&workers[i]);
	(void)work_on(&workers[0]);
	for (uint32_t i = 1; i < count; i++)
		if (workers[i].runs)
			(void)pthread_join(workers[i].thread, NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b)
{
	const struct gather_run *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void gather_sort(struct gather *g)
{
	for (uint32_t i = 0; i < g->part_count; i++)
		for (size_t k = 0; k < g->parts[i].runs.count; k++)
			*vec_push(&g->runs) = g->parts[i].runs.at[k];
	if (g->runs.count)
		qsort(g->runs.at, g->runs.count, sizeof(g->runs.at[0]), compare_runs);
}

bool gather_read(struct gather *g, pid_t pid, const struct gather_range *ranges, size_t count)
{
	struct work w = {.gather = g, .pid = pid, .ranges = ranges, .count = count};

	w.firsts = mem_new(count + 1, sizeof(*w.firsts));
	for (size_t i = 0; i < count; i++) {
		w.firsts[i] = w.chunks;
		w.chunks += count_chunks(&ranges[i]);
	}
	run_workers(&w);
	free(w.firsts);
	return !atomic_load(&w.denied);
}

/* The first run that may have something at the address or behind it. */
static size_t find_run(const struct gather *g, uint64_t address)
{
	size_t low = 0, high = g->runs.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->runs.at[middle].address + GATHER_CHUNK_BYTES <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t find_word(const struct gather_run *run, const uint16_t *places, uint64_t address)
{
	size_t low = 0, high = run->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run->address + places[middle] * sizeof(uint64_t) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void gather_visit(const struct gather *g, const struct gather_range *range,
		  bool (*visit)(void *context, uint64_t address, uint64_t value), void *context)
{
	for (size_t i = find_run(g, range->start);
	     i < g->runs.count && g->runs.at[i].address < range->end; i++) {
		const struct gather_run *run = &g->runs.at[i];
		const uint64_t *values = g->parts[run->part].values.at + run->first;
		const uint16_t *places = g->parts[run->part].places.at + run->first;

		for (size_t k = find_word(run, places, range->start); k < run->count; k++) {
			uint64_t address = run->address + places[k] * sizeof(uint64_t);

			if (address >= range->end || !visit(context, address, values[k]))
				return;
		}
	}
}

void gather_fini(struct gather *g)
{
	for (uint32_t i = 0; i < GATHER_PARTS_MOST; i++) {
		vec_free(&g->parts[i].runs);
		vec_free(&g->parts[i].values);
		vec_free(&g->parts[i].places);
	}
	vec_free(&g->runs);
}
