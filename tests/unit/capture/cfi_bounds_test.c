/* cfi_bounds_test.c -- damaged unwind information is not followed out of its object.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The object is a page; behind and before it is one that cannot be read. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/cfi.h"
#include "capture/cfi_index.h"

#define OBJECT_BYTES 4096u
#define HDR_AT	     (OBJECT_BYTES - sizeof(struct tables))

/* One function, from the start of the object on. */
struct tables {
	uint8_t encodings[4];
	int32_t eh_frame;
	uint32_t count;
	int32_t row_pc;
	int32_t row_fde;
	uint32_t cie_bytes;
	uint32_t cie_id;
	uint8_t cie[16];
	uint32_t fde_bytes;
	uint32_t fde_distance;
	int32_t pc;
	uint32_t pc_bytes;
	uint8_t program[8];
};

static uint8_t *object;
static struct image image;
static struct tables *tables;

static int32_t from(const void *there, const void *here)
{
	return (int32_t)((const uint8_t *)there - (const uint8_t *)here);
}

static int map_object(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	if (at == MAP_FAILED || mprotect(at + page, page, PROT_READ | PROT_WRITE) != 0)
		return -1;
	object = at + 2 * page - OBJECT_BYTES;
	tables = (struct tables *)(object + HDR_AT);
	image = (struct image){.map_start = (uint64_t)(uintptr_t)object,
			       .map_end = (uint64_t)(uintptr_t)object + OBJECT_BYTES,
			       .bias = (uint64_t)(uintptr_t)object};
	return 0;
}

static Elf64_Phdr *put_headers(void)
{
	Elf64_Ehdr *elf = (Elf64_Ehdr *)object;
	Elf64_Phdr *load = (Elf64_Phdr *)(elf + 1);

	*elf = (Elf64_Ehdr){.e_ident = ELFMAG,
			    .e_phoff = sizeof(*elf),
			    .e_phentsize = sizeof(*load),
			    .e_phnum = 1};
	*load = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = OBJECT_BYTES};
	return load;
}

static int put_tables(void **state)
{
	(void)state;
	(void)put_headers();
	*tables = (struct tables){
		.encodings = {1, 0x1b, 0x03, 0x3b},
		.count = 1,
		.cie_bytes = sizeof(tables->cie) + 4,
		.cie = {1, 'z', 'R', 0, 1, 0x78, ARCH_REG_RA, 1, 0x1b, 0x0c, ARCH_REG_SP, 8},
		.fde_bytes = 4 + 8 + sizeof(tables->program),
		.pc_bytes = 64,
	};
	tables->eh_frame = from(&tables->cie_bytes, &tables->eh_frame);
	tables->row_pc = from(object, tables);
	tables->row_fde = from(&tables->fde_bytes, tables);
	tables->fde_distance = (uint32_t)from(&tables->fde_distance, &tables->cie_bytes);
	tables->pc = from(object, &tables->pc);
	return 0;
}

/* As modules.c does: bounds from the object's headers as they are now. */
static void bound(uint64_t hdr)
{
	struct image_headers headers;

	image.read_start = image.read_end = 0;
	(void)image_read_headers(&image, &headers);
	image_bound(&image, &headers, hdr);
}

static bool is_within_at(size_t place)
{
	uint64_t hdr = image.map_start + place;
	uint8_t head[CFI_HEADER_MOST] = {0};

	memcpy(head, object + HDR_AT, sizeof(head));
	bound(hdr);
	return cfi_is_within(&image, head, hdr);
}

static bool is_within(void)
{
	return is_within_at(HDR_AT);
}

static bool find(void)
{
	struct cfi_entry entry;

	bound(image.map_start + HDR_AT);
	return cfi_find(&image, object + HDR_AT, image.map_start + 8, &entry);
}

static void sound_tables_are_used(void **state)
{
	struct cfi_index_row row;

	(void)state;
	assert_true(is_within());
	assert_true(find());
	assert_int_equal(cfi_index_take_rows(&image, (const uint8_t *)&tables->cie_bytes,
					     OBJECT_BYTES - HDR_AT - 20, &row, 1),
			 1);
	assert_int_equal(row.pc, image.map_start);
}

static void a_table_with_more_rows_than_the_object_has_room_for_is_not(void **state)
{
	(void)state;
	tables->count = 1 + (sizeof(*tables) - 20) / 8 + 1;
	assert_false(is_within());
	tables->count = UINT32_MAX;
	assert_false(is_within());
	assert_false(is_within_at(OBJECT_BYTES - 8));
	assert_false(is_within_at(OBJECT_BYTES));
}

static void a_row_that_points_out_of_the_object_finds_nothing(void **state)
{
	const int32_t places[] = {(int32_t)sizeof(*tables), (int32_t)sizeof(*tables) - 2,
				  -(int32_t)HDR_AT - 8, INT32_MAX, INT32_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		tables->row_fde = places[i];
		assert_false(find());
	}
}

static void an_entry_longer_than_what_is_left_finds_nothing(void **state)
{
	(void)state;
	tables->fde_bytes++;
	assert_false(find());
	tables->fde_bytes = UINT32_MAX; /* the length is in the next eight bytes */
	assert_false(find());
	assert_int_equal(put_tables(NULL), 0);
	tables->cie_bytes = OBJECT_BYTES;
	assert_false(find());
}

static void a_cie_outside_of_the_object_finds_nothing(void **state)
{
	(void)state;
	tables->fde_distance = OBJECT_BYTES;
	assert_false(find());
	tables->fde_distance = UINT32_MAX;
	assert_false(find());
	tables->fde_distance = (uint32_t)-8;
	assert_false(find());
}

static void segments_that_wrap_around_have_no_room(void **state)
{
	Elf64_Phdr *load = put_headers();

	(void)state;
	assert_int_equal(image_room(&image, image.map_start + 96, PF_R), OBJECT_BYTES - 96);
	load->p_filesz = UINT64_MAX - 64;
	assert_int_equal(image_room(&image, image.map_start + 96, PF_R), 0);
	load->p_filesz = OBJECT_BYTES + 1;
	assert_int_equal(image_room(&image, image.map_start + 96, PF_R), 0);
	assert_false(is_within());
	assert_false(find());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sound_tables_are_used, put_tables),
		cmocka_unit_test_setup(a_table_with_more_rows_than_the_object_has_room_for_is_not,
				       put_tables),
		cmocka_unit_test_setup(a_row_that_points_out_of_the_object_finds_nothing,
				       put_tables),
		cmocka_unit_test_setup(an_entry_longer_than_what_is_left_finds_nothing, put_tables),
		cmocka_unit_test_setup(a_cie_outside_of_the_object_finds_nothing, put_tables),
		cmocka_unit_test_setup(segments_that_wrap_around_have_no_room, put_tables),
	};

	return cmocka_run_group_tests(tests, map_object, NULL);
}
