/* cfi_test.c -- the unwind tables are read as the compiler, the assembler and the linker wrote
 * them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "capture/cfi.h"

#define PCREL_SDATA4   0x1b
#define DATAREL_SDATA4 0x3b
#define UDATA4	       0x03
#define OMIT	       0xff

/* ---- numbers --------------------------------------------------------------------------------- */

static struct cfi_cursor cursor_over(const uint8_t *bytes, size_t count)
{
	return (struct cfi_cursor){.at = bytes, .end = bytes + count};
}

static void fixed_numbers_are_little_endian(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct cfi_cursor c = cursor_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cfi_take_fixed(&c, 1), 0x01);
	assert_int_equal(cfi_take_fixed(&c, 2), 0x0302);
	assert_int_equal(cfi_take_fixed(&c, 8), 0x0b0a090807060504);
	assert_false(c.bad);
	assert_ptr_equal(c.at, c.end);
}

static void a_read_past_the_end_is_zero_and_so_is_all_that_follows(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct cfi_cursor c = cursor_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cfi_take_fixed(&c, 4), 0);
	assert_true(c.bad);
	assert_int_equal(cfi_take_fixed(&c, 1), 0);
	assert_int_equal(cfi_take_uleb(&c), 0);
	assert_int_equal(cfi_take_sleb(&c), 0);
	assert_ptr_equal(c.at, bytes);
}

struct leb {
	uint8_t count;
	uint8_t bytes[12];
	uint64_t value;
};

static void unsigned_leb_numbers_are_read_in_every_length(void **state)
{
	static const struct leb table[] = {
		{1, {0x00}, 0},
		{1, {0x7f}, 127},
		{2, {0x80, 0x01}, 128},
		{3, {0xe5, 0x8e, 0x26}, 624485},
		{10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, UINT64_MAX},
		{12, {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct cfi_cursor c = cursor_over(table[i].bytes, table[i].count);

		assert_int_equal(cfi_take_uleb(&c), table[i].value);
		assert_false(c.bad);
		assert_ptr_equal(c.at, c.end);
	}
}

static void signed_leb_numbers_are_read_in_every_length(void **state)
{
	static const struct leb table[] = {
		{1, {0x02}, 2},
		{1, {0x7e}, (uint64_t)-2},
		{2, {0xff, 0x00}, 127},
		{2, {0x81, 0x7f}, (uint64_t)-127},
		{2, {0x80, 0x7f}, (uint64_t)-128},
		{10,
		 {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00},
		 (uint64_t)INT64_MAX},
		{10,
		 {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
		 (uint64_t)INT64_MIN},
		{12,
		 {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		 (uint64_t)-2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct cfi_cursor c = cursor_over(table[i].bytes, table[i].count);

		assert_int_equal(cfi_take_sleb(&c), table[i].value);
		assert_false(c.bad);
		assert_ptr_equal(c.at, c.end);
	}
}

static void a_leb_number_without_its_last_byte_is_bad(void **state)
{
	static const uint8_t bytes[] = {0x80, 0x80};
	struct cfi_cursor u = cursor_over(bytes, sizeof(bytes));
	struct cfi_cursor s = cursor_over(bytes, sizeof(bytes));

	(void)state;
	(void)cfi_take_uleb(&u);
	(void)cfi_take_sleb(&s);
	assert_true(u.bad);
	assert_true(s.bad);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static void pointers_are_read_in_every_format(void **state)
{
	static const uint8_t bytes[8] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t leb[2] = {0xfe, 0x7f};
	static const struct {
		uint8_t encoding;
		uint8_t size;
		uint64_t value;
	} table[] = {
		{0x00, 8, (uint64_t)-2}, {0x04, 8, (uint64_t)-2}, {0x0c, 8, (uint64_t)-2},
		{0x03, 4, 0xfffffffe},	 {0x0b, 4, (uint64_t)-2}, {0x02, 2, 0xfffe},
		{0x0a, 2, (uint64_t)-2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct cfi_cursor c = cursor_over(bytes, sizeof(bytes));

		assert_int_equal(cfi_take_pointer(&c, table[i].encoding, 0), table[i].value);
		assert_false(c.bad);
		assert_ptr_equal(c.at, bytes + table[i].size);
	}
	struct cfi_cursor u = cursor_over(leb, 2), s = cursor_over(leb, 2);
	assert_int_equal(cfi_take_pointer(&u, 0x01, 0), 0x3ffe);
	assert_int_equal(cfi_take_pointer(&s, 0x09, 0), (uint64_t)-2);
}

static void a_relative_pointer_counts_from_its_own_place_or_from_the_data_base(void **state)
{
	static const uint8_t bytes[] = {0, 0xf0, 0xff, 0xff, 0xff};
	struct cfi_cursor c = cursor_over(bytes + 1, 4), d = c;

	(void)state;
	assert_int_equal(cfi_take_pointer(&c, PCREL_SDATA4, 0x5000),
			 (uint64_t)(uintptr_t)(bytes + 1) - 16);
	assert_int_equal(cfi_take_pointer(&d, DATAREL_SDATA4, 0x5000), 0x5000 - 16);
	assert_false(c.bad || d.bad);
}

static void pointer_encodings_that_need_what_we_do_not_have_are_refused(void **state)
{
	/* text- and function-relative, aligned, indirect, omitted, and formats that do not exist */
	static const uint8_t encodings[] = {0x20, 0x40, 0x50, 0x80, 0x9b, 0xff,
					    0x05, 0x08, 0x0d, 0x0f, 0x60, 0x70};
	static const uint8_t bytes[8] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(encodings); i++) {
		struct cfi_cursor c = cursor_over(bytes, sizeof(bytes));

		(void)cfi_take_pointer(&c, encodings[i], 0);
		assert_true(c.bad);
	}
}

static void a_pointer_that_is_cut_off_is_bad(void **state)
{
	static const uint8_t bytes[3] = {1, 2, 3};
	struct cfi_cursor c = cursor_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cfi_take_pointer(&c, UDATA4, 0), 0);
	assert_true(c.bad);
}

/* ---- this very program, and the C library ---------------------------------------------------- */

struct object {
	uint64_t address; /* wanted */
	const uint8_t *hdr;
	uint64_t start; /* of the code around `address` */
	uint64_t end;
};

static int examine_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct object *wanted = context;
	const uint8_t *hdr = NULL;
	bool holds = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			hdr = (const uint8_t *)(uintptr_t)start;
		if (p->p_type != PT_LOAD || wanted->address - start >= p->p_memsz)
			continue;
		holds = true;
		wanted->start = start;
		wanted->end = start + p->p_memsz;
	}
	wanted->hdr = holds ? hdr : NULL;
	return holds;
}

static struct object object_of(const void *address)
{
	struct object o = {.address = (uint64_t)(uintptr_t)address};

	assert_int_equal(dl_iterate_phdr(examine_object, &o), 1);
	assert_non_null(o.hdr);
	assert_int_equal(o.hdr[1], PCREL_SDATA4);
	assert_int_equal(o.hdr[2], UDATA4);
	assert_int_equal(o.hdr[3], DATAREL_SDATA4);
	return o;
}

static uint64_t number_at(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, 4);
	return (uint64_t)(int64_t)value;
}

static volatile unsigned sink;

static NOINLINE unsigned add_one(unsigned x)
{
	return x + 1 + sink;
}

static struct cfi_work work;

/* Checks a place in a running function: the tables must lead to the frame that the compiler knows.
 */
static NOINLINE void check_place(const uint64_t regs[ARCH_REGS], uint64_t cfa, const void *ra)
{
	struct object o = object_of((const void *)(uintptr_t)regs[ARCH_REG_PC]);
	struct cfi_entry entry;

	assert_true(cfi_find(NULL, o.hdr, regs[ARCH_REG_PC], &entry));
	assert_in_range(regs[ARCH_REG_PC], entry.pc_start, entry.pc_end - 1);
	assert_int_equal(entry.ra_register, ARCH_REG_RA);
	assert_false(entry.signal_frame);
	assert_true(cfi_run(&entry, regs[ARCH_REG_PC], &work));
	assert_int_equal(work.row.cfa.kind, CFI_OFFSET);
	uint64_t found = regs[work.row.cfa_register] + (uint64_t)work.row.cfa.value;
	assert_int_equal(found, cfa);
	const struct cfi_rule *rule = &work.row.regs[ARCH_REG_RA];
	assert_int_equal(rule->kind, CFI_OFFSET);
	uint64_t saved = *(const uint64_t *)(uintptr_t)(found + (uint64_t)rule->value);
	assert_int_equal(arch_strip(saved), arch_strip((uintptr_t)ra));
}

#define CHECK_THIS_PLACE()                                                  \
	do {                                                                \
		uint64_t regs[ARCH_REGS] = {0};                             \
		arch_capture(regs);                                         \
		check_place(regs, ARCH_CFA(), __builtin_return_address(0)); \
	} while (0)

static NOINLINE void stand_in_a_small_frame(void)
{
	CHECK_THIS_PLACE();
	sink++;
}

static NOINLINE void stand_in_a_big_frame(void)
{
	volatile char room[9000];

	room[sink % sizeof(room)] = 1;
	CHECK_THIS_PLACE();
	sink += (unsigned)room[sink % sizeof(room)];
}

static NOINLINE void stand_in_a_frame_of_unknown_size(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	room[bytes - 1] = 1;
	CHECK_THIS_PLACE();
	sink += (unsigned)room[bytes - 1];
}

/* Enough values across calls to need every preserved register. */
static NOINLINE void stand_in_a_frame_that_saves_many_registers(unsigned a)
{
	unsigned b = add_one(a), c = add_one(b), d = add_one(c), e = add_one(d), f = add_one(e);

	CHECK_THIS_PLACE();
	if (f > sink + 1000)
		return;
	sink += add_one(a) + add_one(b) + add_one(c) + add_one(d) + add_one(e) + add_one(f);
}

static void inside_functions_of_every_shape_the_tables_lead_to_the_true_frame(void **state)
{
	(void)state;
	stand_in_a_small_frame();
	stand_in_a_big_frame();
	stand_in_a_frame_of_unknown_size(sink % 7 + 100);
	stand_in_a_frame_that_saves_many_registers(sink);
}

static void at_a_functions_entry_the_frame_is_as_the_call_left_it(void **state)
{
	const void *functions[] = {(const void *)(uintptr_t)add_one,
				   (const void *)(uintptr_t)stand_in_a_big_frame,
				   (const void *)(uintptr_t)cfi_find};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t pc = (uint64_t)(uintptr_t)functions[i];
		struct cfi_entry entry;

		assert_true(cfi_find(NULL, object_of(functions[i]).hdr, pc, &entry));
		assert_int_equal(entry.pc_start, pc);
		assert_true(cfi_run(&entry, pc, &work));
		assert_int_equal(work.row.cfa.kind, CFI_OFFSET);
		assert_int_equal(work.row.cfa_register, ARCH_REG_SP);
		assert_int_equal(work.row.cfa.value, ARCH_STACK_STEP);
	}
}

static void an_address_outside_of_all_functions_has_no_entry(void **state)
{
	struct object o = object_of((const void *)(uintptr_t)add_one);
	struct cfi_entry entry;

	(void)state;
	assert_false(cfi_find(NULL, o.hdr, 0, &entry));
	assert_false(cfi_find(NULL, o.hdr, UINT64_MAX, &entry));
	assert_false(cfi_find(NULL, o.hdr, (uint64_t)(uintptr_t)o.hdr, &entry));
	assert_false(cfi_find(NULL, o.hdr, (uint64_t)(uintptr_t)&sink, &entry));
	assert_false(cfi_find(NULL, o.hdr, o.end, &entry));
}

/* Every row of an object's table: found under its own address, and run to its first and last pc. */
static void check_whole_table(const void *address)
{
	struct object o = object_of(address);
	uint64_t count = number_at(o.hdr + 8);
	struct cfi_entry entry;

	assert_true(count > 10);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t pc = (uint64_t)(uintptr_t)o.hdr + number_at(o.hdr + 12 + 8 * i);

		assert_true(cfi_find(NULL, o.hdr, pc, &entry));
		assert_int_equal(entry.pc_start, pc);
		assert_true(cfi_run(&entry, pc, &work));
		assert_true(cfi_run(&entry, entry.pc_end - 1, &work));
	}
}

static void every_entry_of_this_program_is_understood(void **state)
{
	(void)state;
	check_whole_table((const void *)(uintptr_t)add_one);
}

static void every_entry_of_the_c_library_is_understood(void **state)
{
	(void)state;
	check_whole_table((const void *)(uintptr_t)dl_iterate_phdr);
}

static void without_a_table_the_entries_are_searched_one_by_one(void **state)
{
	const void *functions[] = {(const void *)(uintptr_t)add_one,
				   (const void *)(uintptr_t)stand_in_a_big_frame,
				   (const void *)(uintptr_t)cfi_find};
	struct object o = object_of(functions[0]);
	uint64_t eh_frame = (uint64_t)(uintptr_t)(o.hdr + 4) + number_at(o.hdr + 4);
	uint8_t bare[20] = {1, 0x00, OMIT, OMIT};

	(void)state;
	memcpy(bare + 4, &eh_frame, 8);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t pc = (uint64_t)(uintptr_t)functions[i] + 1;
		struct cfi_entry by_table, by_scan;

		assert_true(cfi_find(NULL, o.hdr, pc, &by_table));
		assert_true(cfi_find(NULL, bare, pc, &by_scan));
		assert_ptr_equal(by_scan.instructions, by_table.instructions);
		assert_int_equal(by_scan.pc_start, pc - 1);
	}
}

static void an_unknown_version_of_the_header_is_refused(void **state)
{
	struct object o = object_of((const void *)(uintptr_t)add_one);
	uint64_t eh_frame = (uint64_t)(uintptr_t)(o.hdr + 4) + number_at(o.hdr + 4);
	uint8_t bare[20] = {2, 0x00, OMIT, OMIT};
	struct cfi_entry entry;

	(void)state;
	memcpy(bare + 4, &eh_frame, 8);
	assert_false(cfi_find(NULL, bare, (uint64_t)(uintptr_t)add_one, &entry));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_numbers_are_little_endian),
		cmocka_unit_test(a_read_past_the_end_is_zero_and_so_is_all_that_follows),
		cmocka_unit_test(unsigned_leb_numbers_are_read_in_every_length),
		cmocka_unit_test(signed_leb_numbers_are_read_in_every_length),
		cmocka_unit_test(a_leb_number_without_its_last_byte_is_bad),
		cmocka_unit_test(pointers_are_read_in_every_format),
		cmocka_unit_test(
			a_relative_pointer_counts_from_its_own_place_or_from_the_data_base),
		cmocka_unit_test(pointer_encodings_that_need_what_we_do_not_have_are_refused),
		cmocka_unit_test(a_pointer_that_is_cut_off_is_bad),
		cmocka_unit_test(inside_functions_of_every_shape_the_tables_lead_to_the_true_frame),
		cmocka_unit_test(at_a_functions_entry_the_frame_is_as_the_call_left_it),
		cmocka_unit_test(an_address_outside_of_all_functions_has_no_entry),
		cmocka_unit_test(every_entry_of_this_program_is_understood),
		cmocka_unit_test(every_entry_of_the_c_library_is_understood),
		cmocka_unit_test(without_a_table_the_entries_are_searched_one_by_one),
		cmocka_unit_test(an_unknown_version_of_the_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
