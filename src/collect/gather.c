/* gather.c -- the words of a process's memory that may be pointers to its heap.
 * Runs: in the collector process, on some of the machine's cores; the target is stopped, or what is
 * read is a copy of it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/gather.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pages.h"
#include "collect/deadline.h"
#include "collect/stash.h"
#include "collect/target_read.h"

#define SPAN_SHIFT   20u
#define SPAN_BITS    (sizeof(((struct gather *)0)->heap) * 8)
#define PULSE_CHUNKS 4u /* a millisecond */

/* Which pieces of work are left, for all threads: chunks of ranges, or units of a stash. */
struct work {
	struct gather *gather;
	struct stash *stash;
	pid_t pid;
	const struct gather_range *ranges;
	size_t count;
	uint64_t *firsts;      /* by range: the number of its first chunk */
	uint64_t pieces;       /* in all */
	_Atomic uint64_t next; /* piece that nobody has taken; relaxed: a number and no more */
	_Atomic uint32_t denied;
	_Atomic uint32_t late;
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

/* ---- looking --------------------------------------------------------------------------------- */

/* The upper halves of two words at once, among what the compiler makes of the lower ones. */
typedef uint32_t lanes __attribute__((vector_size(16)));
typedef lanes words_at __attribute__((aligned(8))); /* ranges begin and end with any word */

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
	const words_at *at = (const words_at *)(const void *)words;
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

/* ---- the crew -------------------------------------------------------------------------------- */

/* The next piece of work; false: there is none, or no time for it. */
static bool take(struct work *w, uint64_t *number)
{
	const struct deadline *deadline = w->gather->deadline;

	*number = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
	if (*number >= w->pieces || atomic_load_explicit(&w->denied, memory_order_relaxed))
		return false;
	if (!deadline || !deadline_is_over(deadline))
		return true;
	atomic_store_explicit(&w->late, 1, memory_order_relaxed);
	return false;
}

static void tell(struct work *w, struct gather_part *part, const struct target_tally *tally)
{
	part->read_bytes += tally->read_bytes;
	part->unread_bytes += tally->unread_bytes;
	if (tally->is_denied)
		atomic_store_explicit(&w->denied, 1, memory_order_relaxed);
}

/* The collector's first thread has other things to do. */
static void pulse(const struct work *w, uint32_t part)
{
	if (part == 0 && w->gather->pulse)
		w->gather->pulse(w->gather->context);
}

static void pulse_at(const struct work *w, uint32_t part, uint64_t chunk)
{
	if (chunk % PULSE_CHUNKS == 0)
		pulse(w, part);
}

static bool run(struct work *w, void (*work)(void *context, uint32_t part))
{
	struct gather *g = w->gather;
	uint32_t parts = crew_count(&g->crew);

	if (g->part_count < parts)
		g->part_count = parts;
	if (w->pieces > 1)
		crew_work(&g->crew, work, w);
	else
		work(w, 0);
	g->is_late |= atomic_load(&w->late) != 0;
	return !atomic_load(&w->denied);
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

static struct gather_range get_chunk(const struct work *w, uint64_t number)
{
	size_t range = find_range(w, number);
	struct gather_range chunk = {
		.start = w->ranges[range].start + (number - w->firsts[range]) * GATHER_CHUNK_BYTES,
		.end = w->ranges[range].end,
	};

	if (chunk.end - chunk.start > GATHER_CHUNK_BYTES)
		chunk.end = chunk.start + GATHER_CHUNK_BYTES;
	return chunk;
}

static void read_chunks(void *context, uint32_t number)
{
	struct work *w = context;
	struct gather_part *part = &w->gather->parts[number];
	uint64_t *words = pages_new(GATHER_CHUNK_BYTES);
	struct target_tally tally = {0};
	uint64_t next;

	for (uint64_t i = 1; take(w, &next); i++) {
		struct gather_range chunk = get_chunk(w, next);
		struct iovec piece = {.iov_base = (void *)(uintptr_t)chunk.start, /* NOLINT */
				      .iov_len = chunk.end - chunk.start};

		tally = (struct target_tally){0};
		target_read_pieces(w->pid, &piece, 1, words, &tally);
		tell(w, part, &tally);
		keep_pointers(w->gather, part, &chunk, words);
		pulse_at(w, number, i);
	}
	pages_free(words, GATHER_CHUNK_BYTES);
}

/* ---- the stash ------------------------------------------------------------------------------- */

static void touch_units(void *context, uint32_t number)
{
	struct work *w = context;
	uint64_t unit;

	while (take(w, &unit)) {
		stash_touch(w->stash, unit);
		pulse(w, number);
	}
}

static void read_units(void *context, uint32_t number)
{
	struct work *w = context;
	uint64_t unit;

	while (take(w, &unit)) {
		struct target_tally tally = {0};

		stash_read(w->stash, w->pid, unit, &tally);
		tell(w, &w->gather->parts[number], &tally);
		pulse(w, number);
	}
}

static void sift_units(void *context, uint32_t number)
{
	struct work *w = context;
	const uint64_t *words;
	struct gather_range piece;
	uint64_t unit, chunks = 0;

	while (take(w, &unit)) {
		uint64_t at = 0;

		while ((words = stash_find(w->stash, unit, &at, &piece))) {
			keep_pointers(w->gather, &w->gather->parts[number], &piece, words);
			pulse_at(w, number, ++chunks);
		}
		stash_drop(w->stash, unit);
	}
}

void gather_touch(struct gather *g, struct stash *s)
{
	struct work w = {.gather = g, .stash = s, .pieces = stash_count_units(s)};

	(void)run(&w, touch_units);
}

bool gather_stash(struct gather *g, struct stash *s, pid_t pid, const struct gather_range *ranges,
		  size_t count)
{
	struct work w = {.gather = g, .stash = s, .pid = pid};

	stash_plan(s, ranges, count);
	w.pieces = stash_count_used(s);
	return run(&w, read_units) && gather_read(g, pid, s->rest.at, s->rest.count);
}

void gather_sift(struct gather *g, struct stash *s)
{
	struct work w = {.gather = g, .stash = s, .pieces = stash_count_used(s)};

	(void)run(&w, sift_units);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b)
{
	const struct gather_run *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void gather_forget(struct gather *g)
{
	for (uint32_t i = 0; i < g->part_count; i++) {
		struct gather_part *part = &g->parts[i];

		part->runs.count = part->values.count = part->places.count = 0;
		part->read_bytes = part->unread_bytes = 0;
	}
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
		w.firsts[i] = w.pieces;
		w.pieces += count_chunks(&ranges[i]);
	}
	bool given = run(&w, read_chunks);
	free(w.firsts);
	return given;
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
	crew_dismiss(&g->crew);
	for (uint32_t i = 0; i < CREW_MOST; i++) {
		vec_free(&g->parts[i].runs);
		vec_free(&g->parts[i].values);
		vec_free(&g->parts[i].places);
	}
	vec_free(&g->runs);
}
