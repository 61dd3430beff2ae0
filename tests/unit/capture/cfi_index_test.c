/* cfi_index_test.c -- a table made of .eh_frame leads where the linker's own table does, whatever
 * the bytes are. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/cfi.h"
#include "capture/cfi_index.h"

/* ---- a loaded object ------------------------------------------------------------------------- */

struct loaded {
	const void *address; /* wanted: in the object */
	struct image image;
	const uint8_t *hdr;
	uint64_t eh_frame;
};

static int fill_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *to = context;
	struct loaded found = {.image = {.map_start = UINT64_MAX, .bias = info->dlpi_addr}};

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			found.hdr = (const uint8_t *)(uintptr_t)start;
		if (p->p_type == PT_LOAD && start < found.image.map_start)
			found.image.map_start = start & ~UINT64_C(4095);
		if (p->p_type == PT_LOAD && start + p->p_memsz > found.image.map_end)
			found.image.map_end = start + p->p_memsz;
	}
	uint64_t address = (uint64_t)(uintptr_t)to->address;
	if (!found.hdr || address < found.image.map_start || address >= found.image.map_end)
		return 0;
	found.address = to->address;
	*to = found;
	return 1;
}

/* What a header without a table says. */
static uint64_t eh_frame_of(const uint8_t *hdr)
{
	struct cfi_cursor c = {.at = hdr + 4, .end = hdr + 12};

	assert_int_equal(cfi_find_untabled(hdr, (uint64_t)(uintptr_t)hdr), 0);
	return cfi_take_pointer(&c, hdr[1], (uint64_t)hdr);
}

static struct loaded load(const void *address)
{
	struct loaded l = {.address = address};

	assert_int_equal(dl_iterate_phdr(fill_loaded, &l), 1);
	l.eh_frame = eh_frame_of(l.hdr);
	return l;
}

/* ---- well-formed ----------------------------------------------------------------------------- */

/* Every pc that the linker's table knows, and those around it. */
static void check_same(const struct loaded *l, const uint8_t *index)
{
	uint64_t count, found = 0;

	assert_int_equal(l->hdr[2], 0x03);
	count = *(const uint32_t *)(const void *)(l->hdr + 8);
	assert_true(count > 10);
	for (uint64_t i = 0; i < count; i++) {
		int32_t offset = *(const int32_t *)(const void *)(l->hdr + 12 + 8 * i);
		uint64_t pc = (uint64_t)l->hdr + (uint64_t)(int64_t)offset;

		for (uint64_t at = pc - 1; at <= pc + 1; at++) {
			struct cfi_entry by_table, by_index;
			bool known = cfi_find(NULL, l->hdr, at, &by_table);

			assert_int_equal(cfi_find(NULL, index, at, &by_index), known);
			if (!known)
				continue;
			found++;
			assert_ptr_equal(by_index.instructions, by_table.instructions);
			assert_int_equal(by_index.pc_start, by_table.pc_start);
			assert_int_equal(by_index.pc_end, by_table.pc_end);
		}
	}
	assert_true(found > count);
}

static void check_object(const void *address)
{
	const struct loaded l = load(address);
	uint64_t room = image_room(&l.image, l.eh_frame, PF_R);
	const uint8_t *index = cfi_index_find(&l.image, l.eh_frame, room);

	assert_true(room > 0);
	assert_non_null(index);
	check_same(&l, index);
	assert_ptr_equal(cfi_index_find(&l.image, l.eh_frame, room), index);
}

static void it_leads_where_the_table_of_the_c_library_does(void **state)
{
	(void)state;
	check_object((const void *)(uintptr_t)dlsym(RTLD_NEXT, "qsort"));
}

static void it_leads_where_the_table_of_this_program_does(void **state)
{
	(void)state;
	check_object((const void *)(uintptr_t)check_object);
}

static void a_header_without_rows_names_its_eh_frame(void **state)
{
	const struct loaded l = load((const void *)(uintptr_t)check_object);
	uint8_t bare[20] = {1, CFI_ABSPTR, 0xff, 0xff};

	(void)state;
	memcpy(bare + 4, &l.eh_frame, 8);
	assert_int_equal(cfi_find_untabled(bare, (uint64_t)(uintptr_t)bare), l.eh_frame);
	bare[0] = 2;
	assert_int_equal(cfi_find_untabled(bare, (uint64_t)(uintptr_t)bare), 0);
	bare[0] = 1;
	bare[1] = 0xff;
	assert_int_equal(cfi_find_untabled(bare, (uint64_t)(uintptr_t)bare), 0);
}

/* ---- what may be anything -------------------------------------------------------------------- */

/* Bytes that end where the readable memory does: a read too many would fault. */
struct edge {
	uint8_t *memory;
	size_t page;
	struct image image;
};

static struct edge make_edge(void)
{
	struct edge e = {.page = (size_t)sysconf(_SC_PAGESIZE)};

	e.memory =
		mmap(NULL, 2 * e.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(e.memory, MAP_FAILED);
	assert_int_equal(mprotect(e.memory + e.page, e.page, PROT_NONE), 0);
	e.image = (struct image){.map_start = 0x10000, .map_end = 0x20000};
	return e;
}

/* A CIE and `count` FDEs of 16 bytes of code each, from 0x10000 on in falling order; absolute
 * addresses. Returns the bytes used. */
static size_t write_entries(uint8_t *to, unsigned count)
{
	static const uint8_t cie[20] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8};
	size_t at = sizeof(cie);

	memcpy(to, cie, sizeof(cie));
	for (unsigned i = 0; i < count; i++, at += 24) {
		const uint32_t head[] = {20, (uint32_t)at + 4};
		const uint64_t range[] = {UINT64_C(0x10000) + 16 * (count - 1 - i), 16};

		memcpy(to + at, head, 8);
		memcpy(to + at + 8, range, 16);
	}
	return at;
}

static void entries_in_any_order_are_found(void **state)
{
	struct edge e = make_edge();
	uint8_t *start = e.memory;
	size_t bytes = write_entries(start, 100);
	const uint8_t *index = cfi_index_find(&e.image, (uint64_t)(uintptr_t)start, bytes);
	struct cfi_entry entry;

	(void)state;
	assert_non_null(index);
	for (uint64_t pc = 0x10000; pc < 0x10000 + 1600; pc++) {
		assert_true(cfi_find(NULL, index, pc, &entry));
		assert_int_equal(entry.pc_start, pc & ~UINT64_C(15));
	}
	assert_false(cfi_find(NULL, index, 0x10000 + 1600, &entry));
	assert_false(cfi_find(NULL, index, 0xffff, &entry));
	(void)munmap(e.memory, 2 * e.page);
}

static void entries_of_code_elsewhere_are_left_out(void **state)
{
	struct edge e = make_edge();
	size_t bytes = write_entries(e.memory, 4);
	struct cfi_entry entry;

	(void)state;
	e.image.map_start = 0x10020;
	const uint8_t *index = cfi_index_find(&e.image, (uint64_t)(uintptr_t)e.memory, bytes);
	assert_non_null(index);
	assert_true(cfi_find(NULL, index, 0x10020, &entry));
	assert_false(cfi_find(NULL, index, 0x10010, &entry));
	(void)munmap(e.memory, 2 * e.page);
}

static void other_entries_in_the_same_place_are_seen(void **state)
{
	struct edge e = make_edge();
	size_t bytes = write_entries(e.memory, 10);
	uint64_t start = (uint64_t)(uintptr_t)e.memory;
	const uint8_t *before = cfi_index_find(&e.image, start, bytes);
	struct cfi_entry entry;

	(void)state;
	e.memory[bytes - 8] =
		99; /* the length of the last function, which is the first in memory */
	const uint8_t *after = cfi_index_find(&e.image, start, bytes);
	assert_non_null(before);
	assert_non_null(after);
	assert_ptr_not_equal(before, after);
	assert_true(cfi_find(NULL, after, 0x10000, &entry));
	assert_int_equal(entry.pc_end, 0x10000 + 99);
	(void)munmap(e.memory, 2 * e.page);
}

static void entries_end_with_the_memory_a_zero_or_the_first_bad_one(void **state)
{
	struct edge e = make_edge();
	size_t bytes = write_entries(e.memory, 10);
	struct cfi_entry entry;

	(void)state;
	for (size_t cut = 0; cut <= bytes; cut++) {
		uint8_t *at = e.memory + e.page - cut;

		write_entries(e.memory, 10);
		memmove(at, e.memory, cut);
		const uint8_t *index = cfi_index_find(&e.image, (uint64_t)(uintptr_t)at, cut);
		size_t whole = cut < 20 ? 0 : (cut - 20) / 24;

		assert_int_equal(index != NULL, whole > 0);
		for (unsigned i = 0; i < 10 && index; i++)
			assert_int_equal(cfi_find(NULL, index, 0x10000 + 16 * (9 - i), &entry),
					 i < whole);
	}
	write_entries(e.memory, 10);
	memset(e.memory + 20 + 24 * 3, 0, 4);
	const uint8_t *index = cfi_index_find(&e.image, (uint64_t)(uintptr_t)e.memory, bytes);
	assert_true(cfi_find(NULL, index, 0x10000 + 16 * 7, &entry));
	assert_false(cfi_find(NULL, index, 0x10000 + 16 * 6, &entry));
	(void)munmap(e.memory, 2 * e.page);
}

static void nonsense_never_leads_out_of_the_section(void **state)
{
	struct edge e = make_edge();
	uint64_t random = 4711;
	struct cfi_entry entry;
	unsigned made = 0;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		size_t bytes = write_entries(e.memory, 8);
		uint8_t *at = e.memory + e.page - bytes;

		memmove(at, e.memory, bytes);
		for (unsigned i = 0; i < 1 + round % 6; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			at[(random >> 33) % bytes] =
				(random >> 20) % 3 ? (uint8_t)(random >> 56) : 0xff;
		}
		const uint8_t *index = cfi_index_find(&e.image, (uint64_t)(uintptr_t)at, bytes);
		for (uint64_t pc = 0x10000; pc < 0x10080 && index; pc += 8)
			made += cfi_find(NULL, index, pc, &entry);
	}
	assert_true(made > 3000);
	(void)munmap(e.memory, 2 * e.page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_leads_where_the_table_of_the_c_library_does),
		cmocka_unit_test(it_leads_where_the_table_of_this_program_does),
		cmocka_unit_test(a_header_without_rows_names_its_eh_frame),
		cmocka_unit_test(entries_in_any_order_are_found),
		cmocka_unit_test(entries_of_code_elsewhere_are_left_out),
		cmocka_unit_test(other_entries_in_the_same_place_are_seen),
		cmocka_unit_test(entries_end_with_the_memory_a_zero_or_the_first_bad_one),
		cmocka_unit_test(nonsense_never_leads_out_of_the_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
