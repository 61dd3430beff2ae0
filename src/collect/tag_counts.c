/* tag_counts.c -- what the target has counted by tag, read from the segment.
 * Runs: in the collector process, one thread; the target goes on counting meanwhile.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything comes from the target: a parent must lie before its child and be of the same thread,
 * names end within their table. Each number is read once; those of a tag that is in use at the
 * moment may be of different moments, by one call. */
#include "collect/tag_counts.h"

#include <string.h>

#define KEPT_MAX 4194304u /* rows, 512 MiB: further snapshots have no counts */

_Static_assert((int)PROFILE_API_OTHER == (int)SEGMENT_API_OTHER &&
		       (int)PROFILE_API_ALIGNED == (int)SEGMENT_API_ALIGNED,
	       "one numbering");

void tag_counts_fini(struct tag_counts *t)
{
	vec_free(&t->kept);
	vec_free(&t->cleared);
}

static uint32_t get_used(const struct segment_map *map)
{
	uint32_t used = atomic_load_explicit(&map->header->tags_used, memory_order_acquire);

	return used < map->layout.tag_count ? used : map->layout.tag_count - 1;
}

static uint64_t take_extra(uint64_t bytes, uint64_t blocks)
{
	uint64_t extra = blocks * SEGMENT_TAG_EXTRA;

	return bytes > extra ? bytes - extra : 0;
}

static struct profile_tag get_row(const struct segment_tag *from, uint32_t serial)
{
	struct profile_tag row = {
		.thread = serial,
		.name = {read_once(from->name)},
		.entered = read_once(from->counts.entered),
		.open = read_once(from->open),
		.requested_bytes = read_once(from->counts.requested_bytes),
		.allocated_bytes = read_once(from->counts.allocated_bytes),
		.freed_bytes = read_once(from->counts.freed_bytes),
		.frees = read_once(from->counts.frees),
		.resizes = read_once(from->counts.resizes),
	};
	uint64_t calls = 0;

	for (unsigned i = 0; i < SEGMENT_TAG_APIS; i++)
		calls += row.calls[i] = read_once(from->counts.calls[i]);
	row.allocated_bytes = take_extra(row.allocated_bytes, calls);
	row.freed_bytes = take_extra(row.freed_bytes, row.frees + row.resizes);
	return row;
}

/* What a call counts before it is made it takes back if it fails: there may be less than before. */
static uint64_t get_more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void subtract(struct profile_tag *row, const struct profile_tag *before)
{
	row->entered = get_more(row->entered, before->entered);
	row->requested_bytes = get_more(row->requested_bytes, before->requested_bytes);
	row->allocated_bytes = get_more(row->allocated_bytes, before->allocated_bytes);
	row->freed_bytes = get_more(row->freed_bytes, before->freed_bytes);
	row->frees = get_more(row->frees, before->frees);
	row->resizes = get_more(row->resizes, before->resizes);
	for (unsigned i = 0; i < SEGMENT_API_KINDS; i++)
		row->calls[i] = get_more(row->calls[i], before->calls[i]);
}

void tag_counts_clear(struct tag_counts *t, const struct segment_map *map)
{
	uint32_t used = get_used(map);

	t->kept.count = t->cleared.count = t->snapshots = 0;
	for (uint32_t i = 0; i <= used; i++)
		*vec_push(&t->cleared) = i ? get_row(&map->tags[i], 0) : (struct profile_tag){0};
}

/* Appends the rows of one moment; *at is the array, which must not be known by another name. A tag
 * whose parent makes no sense, or is still being made, is left out with all inside it. */
static void add_rows(struct tag_counts *t, const struct segment_map *map, uint32_t snapshot)
{
	uint32_t used = get_used(map);
	uint32_t *places = mem_new((size_t)used + 1, sizeof(*places)); /* row + 1 */

	vec_reserve(&t->kept, used);
	for (uint32_t i = 1; i <= used; i++) {
		const struct segment_tag *from = &map->tags[i];
		/* Pairs with the release that follows the last field. */
		uint32_t serial = atomic_load_explicit(&from->serial, memory_order_acquire);
		uint32_t parent = read_once(from->parent);

		if (!serial || parent >= i || (parent && !places[parent]))
			continue;
		struct profile_tag row = get_row(from, serial);
		if (i < t->cleared.count)
			subtract(&row, &t->cleared.at[i]);
		row.snapshot = snapshot;
		row.parent = places[parent];
		if (parent && t->kept.at[row.parent - 1].thread != serial)
			continue;
		*vec_push(&t->kept) = row;
		places[i] = (uint32_t)t->kept.count;
	}
	free(places);
}

void tag_counts_keep(struct tag_counts *t, const struct segment_map *map, uint32_t count)
{
	while (t->snapshots < count) {
		t->snapshots++;
		if (t->kept.count + get_used(map) <= KEPT_MAX)
			add_rows(t, map, t->snapshots);
	}
}

/* ---- the profile ----------------------------------------------------------------------------- */

static struct string_id add_name(const struct segment_map *map, struct profile *p, uint32_t offset)
{
	VEC(char) text = {0};
	char letter = 1;

	if (!offset)
		return (struct string_id){0};
	for (uint32_t at = offset; letter && at < map->layout.tag_text_bytes; at++) {
		letter = read_once(map->tag_text[at]);
		*vec_push(&text) = letter;
	}
	*vec_push(&text) = '\0';
	struct string_id id = profile_add_string(p, text.at);
	vec_free(&text);
	return id;
}

static void build_losses(struct segment_tag_losses *from, struct profile_totals *t)
{
	t->lost_tags = atomic_load(&from->lost_pushes);
	t->unmatched_tag_pops = atomic_load(&from->unmatched_pops);
	t->skipped_tag_pops = atomic_load(&from->skipped_pops);
	t->stale_tag_handles = atomic_load(&from->stale_handles);
	t->inherited_tags = atomic_load(&from->inherited);
}

/* Rows of the snapshots that the profile has: a brief one has none. */
static size_t count_kept(const struct tag_counts *t, const struct profile *p)
{
	size_t count = t->kept.count;

	while (count && t->kept.at[count - 1].snapshot > p->snapshots.count)
		count--;
	return count;
}

/* The rows of snapshots keep their order, and follow those of now: what is cut off at the end of a
 * file are the latest snapshots. */
void tag_counts_build(const struct tag_counts *t, const struct segment_map *map, struct profile *p)
{
	struct tag_counts now = {0};
	size_t kept = count_kept(t, p);

	now.cleared = t->cleared;
	add_rows(&now, map, 0);
	size_t first = now.kept.count;
	vec_reserve(&p->tags, first + kept);
	for (size_t i = 0; i < first + kept; i++) {
		struct profile_tag row = i < first ? now.kept.at[i] : t->kept.at[i - first];

		row.name = add_name(map, p, row.name.v);
		if (i >= first && row.parent)
			row.parent += (uint32_t)first;
		*vec_push(&p->tags) = row;
	}
	vec_free(&now.kept); /* the other list is not its own */
	build_losses(&map->header->tag_losses, &p->totals);
}

static uint64_t count_calls(const struct profile_tag *tag)
{
	uint64_t calls = 0;

	for (unsigned k = 0; k < PROFILE_APIS; k++)
		calls += tag->calls[k];
	return calls;
}

/* By serial, the threads' rows plus one; `most` is the highest. */
static uint32_t *index_threads(const struct profile *p, uint32_t *most)
{
	*most = 0;
	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.at[i].serial > *most)
			*most = p->threads.at[i].serial;
	uint32_t *rows = mem_new((size_t)*most + 1, sizeof(*rows));
	for (size_t i = 0; i < p->threads.count; i++)
		rows[p->threads.at[i].serial] = (uint32_t)i + 1;
	return rows;
}

static void add_to_thread(struct profile_thread *thread, const struct profile_tag *tag)
{
	thread->allocations += count_calls(tag);
	thread->frees += tag->frees + tag->resizes;
	thread->reallocations += tag->resizes;
	thread->allocated_bytes += tag->requested_bytes;
	thread->freed_bytes += tag->freed_bytes;
}

void tag_counts_add_totals(struct profile *p)
{
	struct profile_totals *t = &p->totals;
	uint32_t most;
	uint32_t *rows = index_threads(p, &most);

	for (size_t i = 0; i < p->tags.count && !p->tags.at[i].snapshot; i++) {
		const struct profile_tag *tag = &p->tags.at[i];
		uint32_t row = tag->thread <= most ? rows[tag->thread] : 0;

		for (unsigned k = 0; k < PROFILE_APIS; k++)
			t->api_calls[k] += tag->calls[k];
		t->allocations += count_calls(tag);
		t->frees += tag->frees + tag->resizes;
		t->reallocations += tag->resizes;
		t->allocated_bytes += tag->requested_bytes;
		t->freed_bytes += tag->freed_bytes;
		if (row)
			add_to_thread(&p->threads.at[row - 1], tag);
	}
	free(rows);
}

struct tag_counts_sum tag_counts_add_up(const struct tag_counts *t, const struct segment_map *map,
					uint32_t serial)
{
	struct tag_counts_sum sum = {0};
	uint64_t usable_bytes = 0;
	uint32_t used = get_used(map);

	for (uint32_t i = 1; i <= used; i++) {
		/* Pairs with the release that follows the last field. */
		uint32_t of = atomic_load_explicit(&map->tags[i].serial, memory_order_acquire);

		if (!of || (serial && of != serial))
			continue;
		struct profile_tag row = get_row(&map->tags[i], of);
		if (i < t->cleared.count)
			subtract(&row, &t->cleared.at[i]);
		sum.allocations += count_calls(&row);
		sum.frees += row.frees + row.resizes;
		sum.reallocations += row.resizes;
		sum.allocated_bytes += row.requested_bytes;
		sum.freed_bytes += row.freed_bytes;
		usable_bytes += row.allocated_bytes;
	}
	sum.live_bytes = get_more(usable_bytes, sum.freed_bytes);
	return sum;
}
