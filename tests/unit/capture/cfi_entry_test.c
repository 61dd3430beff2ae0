/* cfi_entry_test.c -- entries of .eh_frame, good and broken, written byte by byte.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "capture/cfi.h"

/* One block of memory plays the object: header, table, one CIE and one FDE, and the "code". */
struct tables {
	uint8_t hdr[12];
	int32_t row_pc;
	int32_t row_fde;
	uint8_t frames[256];
	size_t used; /* of frames */
	uint8_t code[64];
};

static struct tables image;

/* What a CIE says, before the letters' own data. */
struct cie {
	uint8_t version;
	const char *letters;
	uint8_t data[8];
	uint8_t data_bytes;
	uint8_t ra_register;
};

static const struct cie plain_cie = {
	.version = 1, .letters = "zR", .data = {0x1b}, .data_bytes = 1, .ra_register = ARCH_REG_RA};

static void put(const void *bytes, size_t count)
{
	assert_true(image.used + count <= sizeof(image.frames));
	memcpy(image.frames + image.used, bytes, count);
	image.used += count;
}

static void put_byte(unsigned value)
{
	uint8_t byte = (uint8_t)value;

	put(&byte, 1);
}

static void put_word(uint32_t value)
{
	put(&value, 4);
}

/* Starts an entry; its length is set by end_entry. */
static size_t begin_entry(void)
{
	put_word(0);
	return image.used;
}

static void end_entry(size_t start)
{
	uint32_t bytes = (uint32_t)(image.used - start);

	memcpy(image.frames + start - 4, &bytes, 4);
}

/* Alignment factors 4 and -8, one instruction: DW_CFA_nop. */
static void put_cie(const struct cie *cie)
{
	size_t start = begin_entry();

	put_word(0);
	put_byte(cie->version);
	put(cie->letters, strlen(cie->letters) + 1);
	put_byte(4);
	put_byte(0x78);
	put_byte(cie->ra_register);
	if (cie->letters[0] == 'z') {
		put_byte(cie->data_bytes);
		put(cie->data, cie->data_bytes);
	}
	put_byte(0);
	end_entry(start);
}

/* An FDE of the CIE at `cie` that covers `code`; then DW_CFA_def_cfa_offset 24. `extra` bytes of
 * augmentation data, none at all when negative. */
static void put_fde(size_t cie, int extra)
{
	size_t start = begin_entry();

	image.row_fde = (int32_t)((image.frames + start - 4) - image.hdr);
	put_word((uint32_t)(image.used - cie));
	put_word((uint32_t)(image.code - (image.frames + image.used)));
	put_word(sizeof(image.code));
	if (extra >= 0)
		put_byte((unsigned)extra);
	for (int i = 0; i < extra; i++)
		put_byte(0xee);
	put_byte(0x0e);
	put_byte(24);
	end_entry(start);
}

static void begin_image(void)
{
	static const uint8_t hdr[4] = {1, 0x1b, 0x03, 0x3b};
	int32_t eh_frame = (int32_t)(image.frames - (image.hdr + 4));
	uint32_t count = 1;

	memset(&image, 0, sizeof(image));
	memcpy(image.hdr, hdr, 4);
	memcpy(image.hdr + 4, &eh_frame, 4);
	memcpy(image.hdr + 8, &count, 4);
	image.row_pc = (int32_t)(image.code - image.hdr);
}

static bool find_at(size_t offset, struct cfi_entry *entry)
{
	return cfi_find(NULL, image.hdr, (uint64_t)(uintptr_t)image.code + offset, entry);
}

/* Builds an image from a CIE and looks it up. */
static bool find_with(const struct cie *cie, struct cfi_entry *entry)
{
	begin_image();
	put_cie(cie);
	put_fde(0, 0);
	put_word(0);
	return find_at(0, entry);
}

static void an_entry_gives_back_what_was_written(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	assert_int_equal(entry.pc_start, (uintptr_t)image.code);
	assert_int_equal(entry.pc_end, (uintptr_t)image.code + sizeof(image.code));
	assert_int_equal(entry.code_align, 4);
	assert_int_equal(entry.data_align, -8);
	assert_int_equal(entry.ra_register, ARCH_REG_RA);
	assert_int_equal(entry.pointer_encoding, 0x1b);
	assert_false(entry.signal_frame);
	assert_int_equal(entry.initial_end - entry.initial, 1);
	assert_int_equal(entry.instructions_end - entry.instructions, 2);
	assert_int_equal(entry.instructions[0], 0x0e);
}

static void an_entry_covers_its_last_byte_and_not_the_next(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	assert_true(find_at(sizeof(image.code) - 1, &entry));
	assert_false(find_at(sizeof(image.code), &entry));
	assert_false(find_at((size_t)-1, &entry));
}

static void a_personality_and_a_language_area_are_passed_over(void **state)
{
	static const struct cie cie = {.version = 1,
				       .letters = "zPLR",
				       .data = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b},
				       .data_bytes = 7,
				       .ra_register = ARCH_REG_RA};
	struct cfi_entry entry;

	(void)state;
	begin_image();
	put_cie(&cie);
	put_fde(0, 4);
	assert_true(find_at(0, &entry));
	assert_int_equal(entry.pointer_encoding, 0x1b);
	assert_int_equal(entry.initial_end - entry.initial, 1);
	assert_int_equal(entry.instructions[0], 0x0e);
}

static void a_signal_frame_is_marked(void **state)
{
	static const struct cie cie = {.version = 1,
				       .letters = "zRS",
				       .data = {0x1b},
				       .data_bytes = 1,
				       .ra_register = ARCH_REG_RA};
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&cie, &entry));
	assert_true(entry.signal_frame);
}

static void letters_without_data_are_passed_over(void **state)
{
	static const struct cie cie = {.version = 1,
				       .letters = "zRBG",
				       .data = {0x1b},
				       .data_bytes = 1,
				       .ra_register = ARCH_REG_RA};
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&cie, &entry));
	assert_false(entry.signal_frame);
	assert_int_equal(entry.initial_end - entry.initial, 1);
}

static void version_3_is_read_like_version_1(void **state)
{
	struct cie cie = plain_cie;
	struct cfi_entry entry;

	(void)state;
	cie.version = 3;
	assert_true(find_with(&cie, &entry));
	assert_int_equal(entry.ra_register, ARCH_REG_RA);
}

static void without_an_augmentation_the_entry_has_no_length_of_one(void **state)
{
	static const struct cie cie = {.version = 1, .letters = "", .ra_register = ARCH_REG_RA};
	uint64_t code = (uint64_t)(uintptr_t)image.code, bytes = sizeof(image.code);
	struct cfi_entry entry;

	(void)state;
	begin_image();
	put_cie(&cie);
	size_t start = begin_entry();
	image.row_fde = (int32_t)((image.frames + start - 4) - image.hdr);
	put_word((uint32_t)image.used);
	put(&code, 8); /* plain pointers: there is no letter R */
	put(&bytes, 8);
	put_byte(0x0e);
	put_byte(24);
	end_entry(start);
	assert_true(find_at(0, &entry));
	assert_int_equal(entry.instructions_end - entry.instructions, 2);
	assert_int_equal(entry.instructions[0], 0x0e);
}

static void an_entry_with_a_long_length_is_read(void **state)
{
	struct cfi_entry entry;
	uint64_t bytes = 4 + 4 + 4 + 1 + 2;

	(void)state;
	begin_image();
	put_cie(&plain_cie);
	image.row_fde = (int32_t)((image.frames + image.used) - image.hdr);
	put_word(UINT32_MAX);
	put(&bytes, 8);
	put_word((uint32_t)image.used);
	put_word((uint32_t)(image.code - (image.frames + image.used)));
	put_word(sizeof(image.code));
	put_byte(0);
	put_byte(0x0e);
	put_byte(24);
	assert_true(find_at(0, &entry));
	assert_int_equal(entry.instructions_end - entry.instructions, 2);
}

static void unknown_versions_and_augmentations_are_refused(void **state)
{
	struct cie version = plain_cie, letters = plain_cie;
	struct cfi_entry entry;

	(void)state;
	version.version = 4;
	assert_false(find_with(&version, &entry));
	letters.letters = "eh";
	assert_false(find_with(&letters, &entry));
}

static void a_return_address_in_a_register_we_do_not_know_is_refused(void **state)
{
	struct cie cie = plain_cie;
	struct cfi_entry entry;

	(void)state;
	cie.ra_register = ARCH_REGS;
	assert_false(find_with(&cie, &entry));
}

static void augmentation_data_that_runs_out_of_its_entry_is_refused(void **state)
{
	struct cfi_entry entry;

	(void)state;
	begin_image();
	put_cie(&plain_cie);
	image.frames[4 + 4 + 1 + 3 + 3] = 100; /* the length of the CIE's augmentation data */
	put_fde(0, 0);
	assert_false(find_at(0, &entry));

	begin_image();
	put_cie(&plain_cie);
	put_fde(0, 0);
	image.frames[image.used - 3] = 100; /* and of the FDE's */
	assert_false(find_at(0, &entry));
}

static void a_cie_that_is_cut_off_anywhere_is_refused(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	uint32_t whole = image.frames[0];
	for (uint32_t bytes = 1; bytes + 1 < whole; bytes++) {
		image.frames[0] = (uint8_t)bytes;
		assert_false(find_at(0, &entry));
	}
}

static void an_fde_that_is_cut_off_anywhere_is_refused(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	uint8_t *length = (uint8_t *)&image + image.row_fde; /* hdr comes first */
	for (uint32_t bytes = 1; bytes < 4 + 4 + 4 + 1; bytes++) {
		*length = (uint8_t)bytes;
		assert_false(find_at(0, &entry));
	}
}

static void a_cie_is_not_taken_for_an_fde(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	image.row_fde = (int32_t)(image.frames - image.hdr);
	assert_false(find_at(0, &entry));
}

static void the_search_one_by_one_ends_at_the_terminator(void **state)
{
	struct cfi_entry entry;

	(void)state;
	assert_true(find_with(&plain_cie, &entry));
	image.hdr[2] = image.hdr[3] = 0xff;
	assert_true(find_at(0, &entry));
	assert_false(find_at(sizeof(image.code), &entry));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_gives_back_what_was_written),
		cmocka_unit_test(an_entry_covers_its_last_byte_and_not_the_next),
		cmocka_unit_test(a_personality_and_a_language_area_are_passed_over),
		cmocka_unit_test(a_signal_frame_is_marked),
		cmocka_unit_test(letters_without_data_are_passed_over),
		cmocka_unit_test(version_3_is_read_like_version_1),
		cmocka_unit_test(without_an_augmentation_the_entry_has_no_length_of_one),
		cmocka_unit_test(an_entry_with_a_long_length_is_read),
		cmocka_unit_test(unknown_versions_and_augmentations_are_refused),
		cmocka_unit_test(a_return_address_in_a_register_we_do_not_know_is_refused),
		cmocka_unit_test(augmentation_data_that_runs_out_of_its_entry_is_refused),
		cmocka_unit_test(a_cie_that_is_cut_off_anywhere_is_refused),
		cmocka_unit_test(an_fde_that_is_cut_off_anywhere_is_refused),
		cmocka_unit_test(a_cie_is_not_taken_for_an_fde),
		cmocka_unit_test(the_search_one_by_one_ends_at_the_terminator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
