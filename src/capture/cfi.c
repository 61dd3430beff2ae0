/* cfi.c -- finds the unwind entry of a pc in .eh_frame, by the sorted table of .eh_frame_hdr.
 * Runs: anywhere in the target, inside malloc; called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/cfi.h"

#include <string.h>

/* DW_EH_PE_*: how a pointer is encoded (Linux Standard Base, exception frames). */
enum {
	PE_ABSPTR = CFI_ABSPTR,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = CFI_UDATA4,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

uint64_t cfi_take_fixed(struct cfi_cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (c->bad || (uint64_t)(c->end - c->at) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, bytes); /* both architectures are little endian */
	c->at += bytes;
	return value;
}

uint64_t cfi_take_uleb(struct cfi_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t byte = cfi_take_byte(c);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

int64_t cfi_take_sleb(struct cfi_cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint64_t byte;

	do {
		byte = cfi_take_byte(c);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if ((byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

static uint64_t take_encoded(struct cfi_cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cfi_take_fixed(c, 8);
	case PE_ULEB128:
		return cfi_take_uleb(c);
	case PE_SLEB128:
		return (uint64_t)cfi_take_sleb(c);
	case PE_UDATA2:
		return cfi_take_fixed(c, 2);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cfi_take_fixed(c, 2);
	case PE_UDATA4:
		return cfi_take_fixed(c, 4);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cfi_take_fixed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t cfi_take_pointer(struct cfi_cursor *c, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = (uint64_t)c->at + c->moved;
	uint64_t value = take_encoded(c, encoding);

	switch (encoding & 0x70) {
	case 0:
		break;
	case PE_PCREL:
		value += here;
		break;
	case PE_DATAREL:
		value += data_base;
		break;
	default:
		c->bad = true;
	}
	if (encoding & PE_INDIRECT)
		c->bad = true; /* never used for code ranges */
	return value;
}

/* Bytes that can be read from `at` on. */
static uint64_t room_at(const struct image *image, uint64_t at)
{
	if (!image || !image->read_end)
		return UINT64_MAX;
	return at - image->read_start < image->read_end - image->read_start ? image->read_end - at
									    : 0;
}

/* One length-prefixed entry of .eh_frame. */
static bool open_entry(const struct image *image, const uint8_t *at, struct cfi_cursor *c,
		       const uint8_t **id_at)
{
	uint64_t room = room_at(image, (uint64_t)(uintptr_t)at);
	uint32_t length;

	if (room < 4)
		return false;
	memcpy(&length, at, 4);
	at += 4;
	room -= 4;
	if (length == 0)
		return false; /* the terminator */
	uint64_t bytes = length;
	if (length == 0xffffffffu) {
		if (room < 8)
			return false;
		memcpy(&bytes, at, 8);
		at += 8;
		room -= 8;
	}
	if (bytes > room)
		return false;
	*id_at = at;
	*c = (struct cfi_cursor){.at = at, .end = at + bytes};
	return true;
}

/* Reads the letters of a CIE's augmentation that bear on unwinding. */
static void take_augmentation(struct cfi_cursor *c, const char *letters, struct cfi_entry *entry)
{
	uint64_t bytes = cfi_take_uleb(c);

	if (c->bad || bytes > (uint64_t)(c->end - c->at)) {
		c->bad = true;
		return;
	}
	const uint8_t *next = c->at + bytes;
	for (letters++; *letters && !c->bad; letters++) {
		if (*letters == 'R') {
			entry->pointer_encoding = (uint8_t)cfi_take_fixed(c, 1);
		} else if (*letters == 'P') {
			/* The personality's address may be indirect: its size alone matters here.
			 */
			uint8_t encoding = (uint8_t)cfi_take_fixed(c, 1);
			(void)take_encoded(c, encoding);
		} else if (*letters == 'L') {
			(void)cfi_take_fixed(c, 1);
		} else if (*letters == 'S') {
			entry->signal_frame = true;
		} /* 'B' and 'G' (aarch64: PAC key, memory tags) have no data */
	}
	c->at = next;
}

static bool read_cie(const struct image *image, const uint8_t *cie, struct cfi_entry *entry)
{
	const uint8_t *id_at;
	struct cfi_cursor c;

	if (!open_entry(image, cie, &c, &id_at) || cfi_take_fixed(&c, 4) != 0)
		return false;
	uint64_t version = cfi_take_fixed(&c, 1);
	const char *letters = (const char *)c.at;
	while (cfi_take_byte(&c) != 0)
		;
	if (c.bad || (version != 1 && version != 3) || (*letters && *letters != 'z'))
		return false;
	entry->code_align = cfi_take_uleb(&c);
	entry->data_align = cfi_take_sleb(&c);
	entry->ra_register = (uint32_t)(version == 1 ? cfi_take_fixed(&c, 1) : cfi_take_uleb(&c));
	entry->pointer_encoding = PE_ABSPTR;
	entry->signal_frame = false;
	entry->has_augmentation = *letters == 'z';
	if (*letters)
		take_augmentation(&c, letters, entry);
	entry->initial = c.at;
	entry->initial_end = c.end;
	return !c.bad && entry->ra_register < ARCH_REGS;
}

bool cfi_read_parts(const struct image *image, const uint8_t *fde, const uint8_t *cie,
		    uint64_t moved, struct cfi_entry *entry)
{
	const uint8_t *id_at;
	struct cfi_cursor c;

	if (!open_entry(image, fde, &c, &id_at))
		return false;
	c.moved = moved;
	entry->moved = moved;
	uint64_t distance = cfi_take_fixed(&c, 4);
	if (distance == 0 || !read_cie(image, cie ? cie : id_at - distance, entry))
		return false;
	entry->pc_start = cfi_take_pointer(&c, entry->pointer_encoding, 0);
	entry->pc_end = entry->pc_start + take_encoded(&c, entry->pointer_encoding & 0x0f);
	uint64_t skip = entry->has_augmentation ? cfi_take_uleb(&c) : 0; /* the LSDA pointer */
	if (c.bad || skip > (uint64_t)(c.end - c.at))
		return false;
	entry->instructions = c.at + skip;
	entry->instructions_end = c.end;
	return true;
}

bool cfi_read_fde(const struct image *image, const uint8_t *fde, struct cfi_entry *entry)
{
	return cfi_read_parts(image, fde, NULL, 0, entry);
}

/* Reads the FDE at `fde`; false if it is not one that covers pc. */
static bool read_fde(const struct image *image, const uint8_t *fde, uint64_t pc,
		     struct cfi_entry *entry)
{
	return cfi_read_fde(image, fde, entry) && pc >= entry->pc_start && pc < entry->pc_end;
}

/* Entry by entry, for an object whose .eh_frame_hdr has no table. */
static bool scan_entries(const struct image *image, const uint8_t *at, uint64_t pc,
			 struct cfi_entry *entry)
{
	const uint8_t *id_at;
	struct cfi_cursor c;

	while (open_entry(image, at, &c, &id_at)) {
		if (cfi_take_fixed(&c, 4) != 0 && read_fde(image, at, pc, entry))
			return true;
		at = c.end;
	}
	return false;
}

/* Rows of (start of function, FDE): offsets from the header itself as linkers write them, or
 * addresses (cfi_index.c). */
struct table {
	const uint8_t *hdr;
	const uint8_t *rows;
	uint64_t count;
	bool wide;
};

static uint64_t table_word(const struct table *t, uint64_t index)
{
	uint64_t wide;
	int32_t narrow;

	if (t->wide) {
		memcpy(&wide, t->rows + index * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, t->rows + index * sizeof(narrow), sizeof(narrow));
	return (uint64_t)t->hdr + (uint64_t)(int64_t)narrow;
}

/* The FDE of the last row that starts at or before pc. */
static const uint8_t *search_table(const struct table *t, uint64_t pc)
{
	uint64_t low = 0, high = t->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_word(t, 2 * middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (const uint8_t *)table_word(t, 2 * low - 1) : NULL;
}

static bool has_table(const uint8_t *hdr)
{
	return hdr[2] != PE_OMIT && (hdr[3] == (PE_DATAREL | PE_SDATA4) || hdr[3] == PE_ABSPTR);
}

uint64_t cfi_find_untabled(const uint8_t *head, uint64_t hdr)
{
	struct cfi_cursor c = {.at = head + 4, .end = head + 4 + 8, .moved = hdr - (uint64_t)head};
	uint64_t eh_frame = cfi_take_pointer(&c, head[1], hdr);

	return head[0] != 1 || has_table(head) || c.bad ? 0 : eh_frame;
}

bool cfi_read_header(const uint8_t *head, uint64_t hdr, struct cfi_table *table)
{
	struct cfi_cursor c = {.at = head + 4, .end = head + 4 + 16, .moved = hdr - (uint64_t)head};

	if (head[0] != 1 || !has_table(head))
		return false;
	(void)cfi_take_pointer(&c, head[1], hdr);
	table->hdr = hdr;
	table->wide = head[3] == PE_ABSPTR;
	table->count = cfi_take_pointer(&c, head[2], hdr);
	table->rows = (uint64_t)c.at + c.moved;
	return !c.bad;
}

bool cfi_is_within(const struct image *image, const uint8_t *head, uint64_t hdr)
{
	uint64_t room = room_at(image, hdr);
	struct cfi_table table;

	if (room < CFI_HEADER_MOST) /* what is read later may be as long */
		return false;
	if (!has_table(head))
		return true;
	return cfi_read_header(head, hdr, &table) && table.rows - hdr <= room &&
	       table.count <= (room - (table.rows - hdr)) / (table.wide ? 16 : 8);
}

/* The table of a header that has one; its rows may lie anywhere. */
static bool open_table(const uint8_t *hdr, struct cfi_cursor *c, struct table *t)
{
	*t = (struct table){.hdr = hdr, .wide = hdr[3] == PE_ABSPTR};
	t->count = cfi_take_pointer(c, hdr[2], (uint64_t)hdr);
	t->rows = c->at;
	return !c->bad;
}

bool cfi_find(const struct image *image, const uint8_t *hdr, uint64_t pc, struct cfi_entry *entry)
{
	struct cfi_cursor c = {.at = hdr + 4, .end = hdr + CFI_HEADER_MOST};
	struct table table;

	if (hdr[0] != 1)
		return false;
	const uint8_t *eh_frame = (const uint8_t *)cfi_take_pointer(&c, hdr[1], (uint64_t)hdr);
	if (!has_table(hdr))
		return !c.bad && scan_entries(image, eh_frame, pc, entry);
	const uint8_t *fde = open_table(hdr, &c, &table) ? search_table(&table, pc) : NULL;
	return fde && read_fde(image, fde, pc, entry);
}
