/* cfi_index.c -- a sorted table for unwind information that came without one.
 * Runs: any thread of the target, inside malloc, once for each such object. Called by modules.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables are in memory of their own, in a list that only grows. Two threads that make the same one
 * at once leave two, which is harmless. */
#include "capture/cfi_index.h"

#include <stdatomic.h>
#include <string.h>

#include "capture/cfi.h"
#include "capture/host.h"

#define BYTES_MOST (UINT64_C(1) << 30) /* of an .eh_frame */

struct index {
	struct index *next;
	uint64_t start;
	uint64_t bytes;
	uint64_t hash;	    /* of the .eh_frame: another object may have come in its place */
	uint8_t header[16]; /* from here on as in an .eh_frame_hdr */
	struct cfi_index_row rows[];
};

static _Atomic(struct index *) indexes;

/* ---- entries --------------------------------------------------------------------------------- */

/* The length of the entry at `at` with its own length field; 0 if it does not fit `room`, or is
 * the terminator. */
static uint64_t entry_bytes(const uint8_t *at, uint64_t room, uint64_t *id_offset)
{
	uint32_t length;
	uint64_t bytes;

	if (room < 8)
		return 0;
	memcpy(&length, at, 4);
	bytes = length;
	*id_offset = 4;
	if (length == 0xffffffffu) {
		if (room < 16)
			return 0;
		memcpy(&bytes, at + 4, 8);
		*id_offset = 12;
	}
	return bytes >= 4 && bytes <= room - *id_offset ? *id_offset + bytes : 0;
}

/* Whether a well-formed CIE begins `distance` bytes before `id_at`. */
static bool has_cie(const uint8_t *start, uint64_t bytes, uint64_t id_at, uint32_t distance)
{
	uint64_t id_offset;
	uint32_t id;

	if (distance > id_at ||
	    !entry_bytes(start + id_at - distance, bytes - (id_at - distance), &id_offset))
		return false;
	memcpy(&id, start + id_at - distance + id_offset, 4);
	return id == 0;
}

uint64_t cfi_index_take_rows(const struct image *image, const uint8_t *start, uint64_t bytes,
			     struct cfi_index_row *rows, uint64_t room)
{
	uint64_t count = 0, id_offset, length;

	for (uint64_t at = 0; (length = entry_bytes(start + at, bytes - at, &id_offset)) != 0;
	     at += length) {
		struct cfi_entry entry;
		uint32_t id;

		memcpy(&id, start + at + id_offset, 4);
		if (id == 0)
			continue;
		if (!has_cie(start, bytes, at + id_offset, id))
			break;
		if (!cfi_read_fde(NULL, start + at, &entry) || entry.pc_start < image->map_start ||
		    entry.pc_end > image->map_end || entry.pc_start >= entry.pc_end)
			continue;
		if (count < room)
			rows[count] = (struct cfi_index_row){.pc = entry.pc_start,
							     .fde = (uint64_t)(start + at)};
		count++;
	}
	return count;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void sift(struct cfi_index_row *rows, uint64_t root, uint64_t count)
{
	struct cfi_index_row moved = rows[root];

	for (uint64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
		if (child + 1 < count && rows[child + 1].pc > rows[child].pc)
			child++;
		if (rows[child].pc <= moved.pc)
			break;
		rows[root] = rows[child];
		root = child;
	}
	rows[root] = moved;
}

/* By a heap: in place, and never slow. */
static void sort(struct cfi_index_row *rows, uint64_t count)
{
	for (uint64_t i = count / 2; i-- > 0;)
		sift(rows, i, count);
	for (uint64_t end = count; end-- > 1;) {
		struct cfi_index_row last = rows[end];

		rows[end] = rows[0];
		rows[0] = last;
		sift(rows, 0, end);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint8_t *at, uint64_t bytes)
{
	uint64_t hash = bytes;

	for (uint64_t part, done = 0; done < bytes; done += part) {
		uint64_t word = 0;

		part = bytes - done < 8 ? bytes - done : 8;
		memcpy(&word, at + done, part);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static struct index *make(const struct image *image, const uint8_t *start, uint64_t bytes)
{
	uint64_t count = cfi_index_take_rows(image, start, bytes, NULL, 0);
	struct index *made =
		count && count <= UINT32_MAX
			? host_map(sizeof(struct index) + count * sizeof(struct cfi_index_row))
			: NULL;

	if (!made)
		return NULL;
	(void)cfi_index_take_rows(image, start, bytes, made->rows, count);
	sort(made->rows, count);
	made->start = (uint64_t)(uintptr_t)start;
	made->bytes = bytes;
	memcpy(made->header, (const uint8_t[]){1, CFI_ABSPTR, CFI_UDATA4, CFI_ABSPTR}, 4);
	memcpy(made->header + 4, &made->start, 8);
	memcpy(made->header + 12, &count, 4);
	return made;
}

const uint8_t *cfi_index_find(const struct image *image, uint64_t start, uint64_t bytes)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)start; /* NOLINT */
	/* Pairs with the release below. */
	struct index *first = atomic_load_explicit(&indexes, memory_order_acquire);

	if (bytes > BYTES_MOST)
		return NULL;
	uint64_t hash = hash_of(at, bytes);
	for (const struct index *i = first; i; i = i->next)
		if (i->start == start && i->bytes == bytes && i->hash == hash)
			return i->header;
	struct index *made = make(image, at, bytes);
	if (!made)
		return NULL;
	made->hash = hash;
	made->next = first;
	while (!atomic_compare_exchange_weak_explicit(&indexes, &made->next, made,
						      memory_order_release, memory_order_acquire))
		;
	return made->header;
}
