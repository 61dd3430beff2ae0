/* cfi_copy.c -- finds the unwind entry of a pc in an object that may be unloaded meanwhile.
 * Runs: anywhere in the target, inside malloc; called by rules.c for addresses that need not be
 * those of live frames.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/cfi_copy.h"

#include <string.h>

#include "capture/peek.h"

/* A row of the table: where a function starts, and its FDE. */
struct row {
	uint64_t pc;
	uint64_t fde;
};

static bool read_row(const struct cfi_table *t, uint64_t index, struct row *row)
{
	int32_t narrow[2];

	if (t->wide)
		return peek_copy(t->rows + index * sizeof(*row), row, sizeof(*row));
	if (!peek_copy(t->rows + index * sizeof(narrow), narrow, sizeof(narrow)))
		return false;
	row->pc = t->hdr + (uint64_t)(int64_t)narrow[0];
	row->fde = t->hdr + (uint64_t)(int64_t)narrow[1];
	return true;
}

/* The FDE of the last row that starts at or before pc; 0: none. */
static uint64_t search(const struct cfi_table *t, uint64_t pc)
{
	uint64_t low = 0, high = t->count, fde = 0;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct row row;

		if (!read_row(t, middle, &row))
			return 0;
		if (row.pc <= pc) {
			fde = row.fde;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return fde;
}

/* One entry with its length; false: it is the terminator, or does not fit. */
static bool read_entry(uint64_t at, uint8_t *to, size_t room)
{
	uint32_t length;

	if (!peek_copy(at, &length, sizeof(length)) || length < 4 || length > room - 4)
		return false;
	return peek_copy(at, to, 4 + (size_t)length) && memcmp(to, &length, sizeof(length)) == 0;
}

bool cfi_copy_find(const uint8_t *hdr, uint64_t pc, struct cfi_copy *copy, struct cfi_entry *entry)
{
	uint64_t at = (uint64_t)(uintptr_t)hdr, fde;
	uint8_t head[CFI_HEADER_MOST] = {0};
	struct cfi_table table;
	uint32_t distance;

	if (!peek_copy(at, head, CFI_HEADER_MOST) && !peek_copy(at, head, CFI_HEADER_LEAST))
		return false;
	if (!cfi_read_header(head, at, &table) || (fde = search(&table, pc)) == 0 ||
	    !read_entry(fde, copy->fde, sizeof(copy->fde)))
		return false;
	memcpy(&distance, copy->fde + 4, sizeof(distance));
	return distance != 0 && read_entry(fde + 4 - distance, copy->cie, sizeof(copy->cie)) &&
	       cfi_read_parts(NULL, copy->fde, copy->cie, fde - (uint64_t)(uintptr_t)copy->fde,
			      entry) &&
	       pc >= entry->pc_start && pc < entry->pc_end;
}
