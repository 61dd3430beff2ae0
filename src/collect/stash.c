/* stash.c -- memory of the target as it was at one moment, to be looked at later.
 * Runs: in the collector process; units are read, looked at and given back by any of its threads.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/stash.h"

#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "collect/target_read.h"

#define MARGIN_BYTES (UINT64_C(8) << 20) /* for a small target that grows */
#define MARGIN_SHARE 16u		 /* for a large one: a part of so many */
#define PAGE_BYTES   4096u		 /* none is smaller */

/* ---- the room -------------------------------------------------------------------------------- */

bool stash_open(struct stash *s, uint64_t bytes, uint64_t spare_bytes)
{
	uint64_t wanted = bytes / STASH_UNIT_BYTES * STASH_UNIT_BYTES + STASH_UNIT_BYTES;

	wanted += bytes / MARGIN_SHARE / STASH_UNIT_BYTES * STASH_UNIT_BYTES + MARGIN_BYTES;
	if (wanted < bytes || wanted > spare_bytes / 2)
		return false;
	s->room = pages_find(wanted);
	s->room_bytes = s->room ? wanted : 0;
	return s->room;
}

void stash_close(struct stash *s)
{
	pages_free(s->room, s->room_bytes);
	vec_free(&s->ranges);
	vec_free(&s->places);
	vec_free(&s->rest);
	*s = (struct stash){0};
}

uint64_t stash_count_units(const struct stash *s)
{
	return s->room_bytes / STASH_UNIT_BYTES;
}

uint64_t stash_count_used(const struct stash *s)
{
	return (s->used_bytes + STASH_UNIT_BYTES - 1) / STASH_UNIT_BYTES;
}

void stash_touch(struct stash *s, uint64_t unit)
{
	volatile char *at = s->room + unit * STASH_UNIT_BYTES;

	for (uint64_t i = 0; i < STASH_UNIT_BYTES; i += PAGE_BYTES)
		at[i] = 0;
}

void stash_drop(struct stash *s, uint64_t unit)
{
	(void)madvise(s->room + unit * STASH_UNIT_BYTES, STASH_UNIT_BYTES, MADV_DONTNEED);
}

/* ---- what lies where ------------------------------------------------------------------------- */

void stash_plan(struct stash *s, const struct gather_range *ranges, size_t count)
{
	s->ranges.count = s->places.count = s->rest.count = 0;
	s->used_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		struct gather_range fits = ranges[i], rest = ranges[i];
		uint64_t left = s->room_bytes - s->used_bytes;

		if (fits.end - fits.start > left)
			fits.end = (fits.start + left) & ~(uint64_t)(PAGE_BYTES - 1);
		if (fits.end > fits.start) {
			*vec_push(&s->ranges) = fits;
			*vec_push(&s->places) = s->used_bytes;
			s->used_bytes += fits.end - fits.start;
			rest.start = fits.end;
		}
		if (rest.start < rest.end)
			*vec_push(&s->rest) = rest;
	}
}

/* The range that a place belongs to. */
static size_t find_range(const struct stash *s, uint64_t place)
{
	size_t low = 0, high = s->ranges.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->places.at[middle] <= place)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

const uint64_t *stash_find(const struct stash *s, uint64_t unit, uint64_t *at,
			   struct gather_range *piece)
{
	uint64_t place = unit * STASH_UNIT_BYTES + *at;
	uint64_t end = min(s->used_bytes, (unit + 1) * STASH_UNIT_BYTES);

	if (place >= end)
		return NULL;
	size_t i = find_range(s, place);
	piece->start = s->ranges.at[i].start + (place - s->places.at[i]);
	piece->end = min(s->ranges.at[i].end, piece->start + min(end - place, GATHER_CHUNK_BYTES));
	*at += piece->end - piece->start;
	return (const uint64_t *)(const void *)(s->room + place);
}

void stash_read(struct stash *s, pid_t pid, uint64_t unit, struct target_tally *tally)
{
	struct iovec pieces[TARGET_PIECES_MOST];
	char *to = s->room + unit * STASH_UNIT_BYTES;
	struct gather_range piece;
	uint64_t at = 0, begun = 0;
	size_t count = 0;

	while (stash_find(s, unit, &at, &piece)) {
		pieces[count++] = (struct iovec){
			.iov_base = (void *)(uintptr_t)piece.start, /* NOLINT */
			.iov_len = piece.end - piece.start,
		};
		if (count == TARGET_PIECES_MOST) {
			target_read_pieces(pid, pieces, count, to + begun, tally);
			begun = at;
			count = 0;
		}
	}
	target_read_pieces(pid, pieces, count, to + begun, tally);
}
