/* read_test.c -- files that are cut off, damaged, too new or made to harm.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <sys/resource.h>
#include <zstd.h>

#include "base/vec.h"
#include "format/wire.h"
#include "profile/codec.h"
#include "profile/section.h"

/* ---- building files by hand ------------------------------------------------------------------ */

static void add_bytes(struct codec_buffer *out, const void *data, size_t bytes)
{
	vec_reserve(out, bytes);
	memcpy(out->at + out->count, data, bytes);
	out->count += bytes;
}

static struct codec_buffer new_file(uint32_t version)
{
	struct codec_buffer out = {0};
	uint8_t header[WIRE_FILE_HEADER_BYTES];

	section_put_file_header(header, version);
	add_bytes(&out, header, sizeof(header));
	return out;
}

/* A section with the given stored bytes and whatever else the header is to claim. */
static void add_stored(struct codec_buffer *out, struct section s, const void *stored, size_t bytes)
{
	uint8_t header[WIRE_SECTION_HEADER_BYTES];

	s.hash = section_hash(stored, bytes);
	s.stored_bytes = (uint32_t)bytes;
	section_put_header(header, &s);
	add_bytes(out, header, sizeof(header));
	add_bytes(out, stored, bytes);
}

static void add_section(struct codec_buffer *out, struct section s, const void *raw, size_t bytes)
{
	size_t room = ZSTD_compressBound(bytes);
	char *stored = mem_new(room, 1);

	s.raw_bytes = (uint32_t)bytes;
	add_stored(out, s, stored, ZSTD_compress(stored, room, raw, bytes, 1));
	free(stored);
}

/* The rows of a table as one section. */
static void add_table(struct codec_buffer *out, uint32_t sequence, const struct table *t,
		      const void *base)
{
	struct codec_buffer raw = {0};

	codec_put_rows(&raw, t, base, (struct codec_block){0, columns_get_count(t, base)});
	add_section(out, (struct section){.tag = t->tag, .sequence = sequence}, raw.at, raw.count);
	vec_free(&raw);
}

static void add_end(struct codec_buffer *out, uint32_t sequence)
{
	add_stored(out, (struct section){.tag = WIRE_TAG_END, .sequence = sequence}, "", 0);
}

/* Parses and frees the file. */
static struct profile *parse(struct codec_buffer *file, struct error *e)
{
	struct profile *p = profile_parse(file->at, file->count, e);

	vec_free(file);
	return p;
}

/* ---- what is not a profile ------------------------------------------------------------------- */

static void an_empty_file_is_called_empty(void **state)
{
	struct error e = {0};

	(void)state;
	assert_null(profile_parse("", 0, &e));
	assert_string_equal(e.text, "empty file, not a midden profile");
}

static void another_kind_of_file_is_called_not_a_profile(void **state)
{
	struct error e = {0};

	(void)state;
	assert_null(profile_parse("\177ELF and so on and on and on", 26, &e));
	assert_string_equal(e.text, "not a midden profile");
	assert_int_equal(e.offset, 0);
}

static void a_newer_format_is_named(void **state)
{
	struct codec_buffer file = new_file(3);
	struct error e = {0};

	(void)state;
	assert_null(parse(&file, &e));
	assert_string_equal(e.text, "written by a newer midden (format 3, this one reads up to 1)");
}

static void what_cannot_be_read_gives_the_reason(void **state)
{
	struct fixture_file f;
	struct error missing = {0}, device = {0}, directory = {0};

	(void)state;
	fixture_open_directory(&f);
	assert_null(profile_read(f.path, &missing));
	assert_string_equal(missing.text, "No such file or directory");
	assert_int_equal(missing.offset, -1);
	assert_null(profile_read(f.directory, &directory));
	assert_string_equal(directory.text, "Is a directory");
	assert_null(profile_read("/dev/zero", &device)); /* and it ends */
	assert_string_equal(device.text, "not a midden profile");
	fixture_close_directory(&f);
}

/* ---- newer files of the same format ---------------------------------------------------------- */

static void an_unknown_section_is_skipped(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct profile *p = fixture_small();
	struct error e = {0};

	(void)state;
	add_section(&file, (struct section){.tag = WIRE_TAG('N', 'E', 'W', '!')}, "data", 4);
	add_table(&file, 1, &columns_totals, p);
	add_end(&file, 2);
	struct profile *q = parse(&file, &e);
	assert_non_null(q);
	assert_false(q->damaged);
	assert_memory_equal(&q->totals, &p->totals, sizeof(p->totals));
	profile_free(q);
	profile_free(p);
}

static void an_unknown_section_that_must_be_understood_is_refused(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct section s = {.tag = WIRE_TAG('N', 'E', 'W', '!'), .flags = WIRE_FLAG_REQUIRED};
	struct profile *p = fixture_small();
	struct error e = {0};

	(void)state;
	add_section(&file, s, "data", 4);
	add_table(&file, 1, &columns_totals, p);
	add_end(&file, 2);
	assert_null(parse(&file, &e));
	assert_string_equal(e.text, "section NEW? needs a newer midden");
	assert_int_equal(e.offset, WIRE_FILE_HEADER_BYTES);
	profile_free(p);
}

static void bytes_behind_the_end_do_no_harm(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);
	struct error e = {0};

	(void)state;
	b.at = mem_resize(b.at, b.count + 3, 1);
	memcpy(b.at + b.count, "\r\n\r", 3);
	struct profile *q = profile_parse(b.at, b.count + 3, &e);
	assert_non_null(q);
	fixture_assert_equal(p, q);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Parses a copy of exactly this size, so that a sanitizer sees a read past it. Either the error is
 * set or the result is sound; the caller frees it. */
static struct profile *parse_copy(const uint8_t *at, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	struct error e = {0};

	assert_non_null(copy);
	memcpy(copy, at, bytes);
	struct profile *p = profile_parse(copy, bytes, &e);
	free(copy);
	if (!p)
		assert_true(e.set && e.text[0]);
	else
		assert_int_equal(profile_check(p, &e), 0);
	return p;
}

static void a_file_cut_off_anywhere_gives_an_error_or_what_came_before_the_cut(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);
	size_t usable = 0;

	(void)state;
	for (size_t bytes = 0; bytes < b.count; bytes++) {
		struct profile *q = parse_copy(b.at, bytes);
		if (!q)
			continue;
		usable++;
		assert_true(q->damaged);
		assert_true(strlen(q->damage) > 10);
		assert_memory_equal(&q->totals, &p->totals, sizeof(p->totals));
		profile_free(q);
	}
	assert_true(usable > b.count / 2);
	profile_free(p);
	free(b.at);
}

static void one_wrong_byte_anywhere_is_noticed(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	for (size_t i = 0; i < b.count; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			b.at[i] ^= (uint8_t)(1u << bit);
			struct profile *q = parse_copy(b.at, b.count);
			b.at[i] ^= (uint8_t)(1u << bit);
			if (q && !q->damaged)
				fail_msg("byte %zu, bit %u: not noticed", i, bit);
			profile_free(q);
		}
	}
	profile_free(p);
	free(b.at);
}

/* The offset of the n-th section of a tag. */
static size_t find_tag(const struct fixture_bytes *b, uint32_t tag, unsigned n)
{
	size_t at = WIRE_FILE_HEADER_BYTES;
	struct section s;

	while (at < b->count) {
		assert_true(section_take_header(b->at + at, &s));
		if (s.tag == tag && !n--)
			return at;
		at += WIRE_SECTION_HEADER_BYTES + s.stored_bytes;
	}
	fail_msg("no such section");
	return 0;
}

static void a_damaged_section_does_not_take_the_others_with_it(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	b.at[find_tag(&b, WIRE_TAG_NODES, 0) + WIRE_SECTION_HEADER_BYTES] ^= 1;
	struct profile *q = parse_copy(b.at, b.count);
	assert_non_null(q);
	assert_true(q->damaged);
	assert_non_null(strstr(q->damage, "section NODE is damaged; has 0 of 20 stack nodes"));
	assert_int_equal(q->nodes.count, 1);
	assert_int_equal(q->sites.count, p->sites.count);
	assert_int_equal(q->sites.at[2].node, 0);
	assert_true(q->sites.at[2].allocations == p->sites.at[2].allocations);
	assert_int_equal(q->changes.count, p->changes.count);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

static void a_damaged_section_header_does_not_take_the_others_with_it(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	b.at[find_tag(&b, WIRE_TAG_THREADS, 0) + WIRE_SECTION_STORED] ^= 0x40;
	struct profile *q = parse_copy(b.at, b.count);
	assert_non_null(q);
	assert_true(q->damaged);
	assert_int_equal(q->threads.count, 0);
	assert_int_equal(q->sites.count, p->sites.count);
	FIXTURE_ROWS_EQUAL(p, q, changes);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

static void bytes_lost_from_the_middle_do_not_take_the_rest_with_them(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);
	size_t at = find_tag(&b, WIRE_TAG_SIZES, 0) + WIRE_SECTION_HEADER_BYTES + 2;

	(void)state;
	memmove(b.at + at, b.at + at + 5, b.count - at - 5);
	struct profile *q = parse_copy(b.at, b.count - 5);
	assert_non_null(q);
	assert_true(q->damaged);
	FIXTURE_ROWS_EQUAL(p, q, sites);
	FIXTURE_ROWS_EQUAL(p, q, frames);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

static void lost_sites_take_their_changes_with_them(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	b.at[find_tag(&b, WIRE_TAG_SITES, 0) + WIRE_SECTION_HEADER_BYTES] ^= 1;
	struct profile *q = parse_copy(b.at, b.count);
	assert_non_null(q);
	assert_int_equal(q->sites.count, 0);
	assert_int_equal(q->changes.count, 0);
	assert_int_equal(q->points.count, p->points.count);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

static void lost_names_are_to_be_looked_up_again(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	b.at[find_tag(&b, WIRE_TAG_TEXT, 1) + WIRE_SECTION_HEADER_BYTES] ^= 1;
	struct profile *q = parse_copy(b.at, b.count);
	assert_non_null(q);
	assert_false(q->resolved);
	assert_string_equal(profile_string(q, q->run.executable), "/opt/app/bin/app");
	assert_int_equal(q->frames.count, p->frames.count);
	profile_free(q);
	profile_free(p);
	free(b.at);
}

static void of_a_table_in_many_sections_those_before_the_damage_are_kept(void **state)
{
	static const struct fixture_size size = {2, 100000, 1, 10, 1, 2, 4, 0};
	struct profile *p = fixture_profile(5, &size);
	struct fixture_bytes b = fixture_encode(p);

	(void)state;
	b.at[find_tag(&b, WIRE_TAG_NODES, 2) + WIRE_SECTION_HEADER_BYTES + 9] ^= 4;
	struct profile *q = parse_copy(b.at, b.count);
	assert_non_null(q);
	assert_int_equal(q->nodes.count, 2 * WIRE_BLOCK_ROWS);
	assert_memory_equal(p->nodes.at, q->nodes.at, q->nodes.count * sizeof(*q->nodes.at));
	assert_non_null(strstr(q->damage, "has 65536 of 100000 stack nodes"));
	profile_free(q);
	profile_free(p);
	free(b.at);
}

/* ---- lies: intact checksums around bad data -------------------------------------------------- */

static void a_reference_to_nothing_in_an_intact_file_is_an_error(void **state)
{
	struct profile *p = fixture_small();
	struct error e = {0};

	(void)state;
	p->sites.at[3].node = 20;
	struct fixture_bytes b = fixture_encode(p);
	assert_null(profile_parse(b.at, b.count, &e));
	assert_string_equal(e.text, "site 3: stack node 20 not defined");
	profile_free(p);
	free(b.at);
}

static uint64_t get_resident_peak(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_maxrss * 1024;
}

/* Adds totals and an end, parses, and expects the section before them to be left out at no cost. */
static void assert_lie_costs_nothing(struct codec_buffer *file)
{
	struct profile *p = fixture_small();
	struct error e = {0};
	uint64_t before = get_resident_peak();

	add_table(file, 1, &columns_totals, p);
	add_end(file, 2);
	struct profile *q = parse(file, &e);
	assert_non_null(q);
	assert_true(q->damaged);
	assert_int_equal(q->sites.count, 0);
	assert_true(get_resident_peak() - before < (8u << 20));
	profile_free(q);
	profile_free(p);
}

static void a_huge_claimed_size_is_not_allocated(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct section s = {.tag = WIRE_TAG_SITES, .raw_bytes = UINT32_MAX};

	(void)state;
	add_stored(&file, s, "\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff", 9); /* a frame of 4 GiB - 1 */
	assert_lie_costs_nothing(&file);
}

static void a_section_of_no_bytes_is_left_out(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);

	(void)state;
	add_section(&file, (struct section){.tag = WIRE_TAG_SITES}, "", 0);
	assert_lie_costs_nothing(&file);
}

static void a_claimed_size_that_the_frame_does_not_have_is_not_allocated(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct section s = {.tag = WIRE_TAG_SITES, .raw_bytes = WIRE_RAW_MAX};
	char stored[64];
	size_t bytes = ZSTD_compress(stored, sizeof(stored), "abc", 3, 1);

	(void)state;
	add_stored(&file, s, stored, bytes);
	assert_lie_costs_nothing(&file);
}

static void a_huge_claimed_number_of_rows_is_not_allocated(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION), raw = {0};

	(void)state;
	codec_put_varint(&raw, 0);
	codec_put_varint(&raw, UINT64_C(1) << 40);
	add_section(&file, (struct section){.tag = WIRE_TAG_SITES}, raw.at, raw.count);
	vec_free(&raw);
	assert_lie_costs_nothing(&file);
}

static void a_section_that_starts_beyond_its_table_is_not_allocated(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION), raw = {0};

	(void)state;
	codec_put_varint(&raw, UINT32_MAX - 10u);
	codec_put_varint(&raw, 5);
	add_section(&file, (struct section){.tag = WIRE_TAG_SITES}, raw.at, raw.count);
	vec_free(&raw);
	assert_lie_costs_nothing(&file);
}

static void a_small_file_of_many_empty_rows_cannot_fill_the_memory(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct error e = {0};
	uint32_t sections = 2000; /* 65 million sites of zeroes would be 9 GiB */

	(void)state;
	for (uint32_t i = 0; i < sections; i++) {
		struct codec_buffer raw = {0};
		codec_put_varint(&raw, (uint64_t)i * WIRE_BLOCK_ROWS);
		codec_put_varint(&raw, WIRE_BLOCK_ROWS);
		add_section(&file, (struct section){.tag = WIRE_TAG_SITES, .sequence = i}, raw.at,
			    raw.count);
		vec_free(&raw);
	}
	add_end(&file, sections);
	uint64_t most = WIRE_BUDGET_BASE + file.count * WIRE_BUDGET_RATE;
	struct profile *p = parse(&file, &e);
	assert_non_null(p);
	assert_true(p->damaged);
	assert_true(p->sites.count * sizeof(*p->sites.at) <= most);
	profile_free(p);
}

static void a_file_without_figures_is_refused(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION);
	struct error e = {0};

	(void)state;
	add_end(&file, 0);
	assert_null(parse(&file, &e));
	assert_non_null(strstr(e.text, "nothing usable"));
}

static void a_section_inside_a_damaged_one_is_not_taken_for_the_next(void **state)
{
	struct codec_buffer file = new_file(WIRE_VERSION), inner = {0};
	struct profile *p = fixture_small();
	struct profile_totals totals = p->totals;
	struct error e = {0};

	(void)state;
	add_table(&file, 0, &columns_totals, p);
	p->totals.peak_bytes++;
	add_table(&inner, 0, &columns_totals, p);
	size_t damaged = file.count;
	add_stored(&file, (struct section){.tag = WIRE_TAG_SIZES, .sequence = 1}, inner.at,
		   inner.count);
	file.at[damaged + WIRE_SECTION_HASH] ^= 1; /* now the reader has to search */
	add_end(&file, 2);
	struct profile *q = parse(&file, &e);
	assert_non_null(q);
	assert_true(q->damaged);
	assert_memory_equal(&q->totals, &totals, sizeof(totals));
	profile_free(q);
	profile_free(p);
	vec_free(&inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_is_called_empty),
		cmocka_unit_test(another_kind_of_file_is_called_not_a_profile),
		cmocka_unit_test(a_newer_format_is_named),
		cmocka_unit_test(what_cannot_be_read_gives_the_reason),
		cmocka_unit_test(an_unknown_section_is_skipped),
		cmocka_unit_test(an_unknown_section_that_must_be_understood_is_refused),
		cmocka_unit_test(bytes_behind_the_end_do_no_harm),
		cmocka_unit_test(
			a_file_cut_off_anywhere_gives_an_error_or_what_came_before_the_cut),
		cmocka_unit_test(one_wrong_byte_anywhere_is_noticed),
		cmocka_unit_test(a_damaged_section_does_not_take_the_others_with_it),
		cmocka_unit_test(a_damaged_section_header_does_not_take_the_others_with_it),
		cmocka_unit_test(bytes_lost_from_the_middle_do_not_take_the_rest_with_them),
		cmocka_unit_test(lost_sites_take_their_changes_with_them),
		cmocka_unit_test(lost_names_are_to_be_looked_up_again),
		cmocka_unit_test(of_a_table_in_many_sections_those_before_the_damage_are_kept),
		cmocka_unit_test(a_reference_to_nothing_in_an_intact_file_is_an_error),
		cmocka_unit_test(a_huge_claimed_size_is_not_allocated),
		cmocka_unit_test(a_section_of_no_bytes_is_left_out),
		cmocka_unit_test(a_claimed_size_that_the_frame_does_not_have_is_not_allocated),
		cmocka_unit_test(a_huge_claimed_number_of_rows_is_not_allocated),
		cmocka_unit_test(a_section_that_starts_beyond_its_table_is_not_allocated),
		cmocka_unit_test(a_small_file_of_many_empty_rows_cannot_fill_the_memory),
		cmocka_unit_test(a_file_without_figures_is_refused),
		cmocka_unit_test(a_section_inside_a_damaged_one_is_not_taken_for_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
