/* codec_test.c -- numbers and columns to bytes and back, good ones and hostile ones.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/vec.h"
#include "profile/codec.h"

static void every_varint_length_comes_back(void **state)
{
	struct codec_buffer out = {0};

	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		codec_put_varint(&out, UINT64_C(1) << bits);
		codec_put_varint(&out, (UINT64_C(1) << bits) - 1);
	}
	codec_put_varint(&out, UINT64_MAX);

	struct cursor c = cursor_init(out.at, out.count);
	for (unsigned bits = 0; bits < 64; bits++) {
		assert_true(cursor_take_varint(&c) == UINT64_C(1) << bits);
		assert_true(cursor_take_varint(&c) == (UINT64_C(1) << bits) - 1);
	}
	assert_true(cursor_take_varint(&c) == UINT64_MAX);
	assert_null(c.fault);
	assert_int_equal(cursor_get_left(&c), 0);
	vec_free(&out);
}

static void a_varint_of_more_than_64_bits_is_a_fault_with_its_offset(void **state)
{
	static const uint8_t bytes[] = {0x01, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff, 0x02};
	struct cursor c = cursor_init(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_take_varint(&c), 1);
	assert_int_equal(cursor_take_varint(&c), 0);
	assert_non_null(c.fault);
	assert_int_equal(c.fault_at, 10);
}

static void the_first_fault_sticks(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 0x80};
	struct cursor c = cursor_init(bytes, sizeof(bytes));

	(void)state;
	assert_non_null(cursor_take_bytes(&c, 1));
	assert_null(cursor_take_bytes(&c, 4));
	const char *first = c.fault;
	assert_non_null(first);
	assert_int_equal(c.fault_at, 1);
	assert_int_equal(cursor_take_u32(&c), 0);
	assert_int_equal(cursor_take_varint(&c), 0);
	assert_null(cursor_take_bytes(&c, 0));
	assert_ptr_equal(c.fault, first);
	assert_int_equal(c.fault_at, 1);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Puts one column of `t` by hand: the coding, then the numbers. */
static struct codec_buffer column_of(uint64_t key, uint64_t rows, const uint8_t *data, size_t bytes)
{
	struct codec_buffer out = {0};

	codec_put_varint(&out, 0);
	codec_put_varint(&out, rows);
	codec_put_varint(&out, key);
	vec_reserve(&out, 4 + bytes);
	wire_put_u32(out.at + out.count, (uint32_t)bytes);
	memcpy(out.at + out.count + 4, data, bytes);
	out.count += 4 + bytes;
	return out;
}

/* Takes it as the first rows of a profile's points. NULL or the fault. */
static const char *take_points(struct profile *p, struct codec_buffer in)
{
	const struct table *t = &columns_vecs[COLUMNS_POINTS];
	struct cursor c = cursor_init(in.at, in.count);
	struct codec_block block = codec_take_block(&c);

	columns_set_count(t, p, block.count);
	int result = codec_take_rows(&c, t, p, block);
	assert_int_equal(result, c.fault ? -1 : 0);
	vec_free(&in);
	return c.fault;
}

#define KEY(column, coding) ((uint64_t)(column) << WIRE_CODING_BITS | (coding))

static void a_column_is_read_in_the_coding_that_the_file_names(void **state)
{
	static const uint8_t data[] = {4, 2, 1};
	struct profile *p = profile_new();

	(void)state;
	assert_null(take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, WIRE_PLAIN), 3, data, 3)));
	assert_int_equal(p->points.at[2].time_ns, 1);
	assert_null(take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, WIRE_DELTA), 3, data, 3)));
	assert_int_equal(p->points.at[0].time_ns, 2);
	assert_int_equal(p->points.at[1].time_ns, 3);
	assert_int_equal(p->points.at[2].time_ns, 2);
	profile_free(p);
}

static void an_unknown_column_is_skipped(void **state)
{
	static const uint8_t data[] = {0xff, 0xff};
	struct profile *p = profile_new();

	(void)state;
	assert_null(take_points(p, column_of(KEY(200, WIRE_PLAIN), 3, data, 2)));
	assert_int_equal(p->points.count, 3);
	assert_int_equal(p->points.at[0].time_ns, 0);
	profile_free(p);
}

static void a_column_with_too_few_numbers_is_a_fault(void **state)
{
	static const uint8_t data[] = {1, 2};
	struct profile *p = profile_new();

	(void)state;
	assert_non_null(take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, 0), 3, data, 2)));
	profile_free(p);
}

static void a_column_with_too_many_numbers_is_a_fault(void **state)
{
	static const uint8_t data[] = {1, 2, 3, 4};
	struct profile *p = profile_new();

	(void)state;
	assert_non_null(take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, 0), 3, data, 4)));
	profile_free(p);
}

static void a_column_in_a_coding_that_does_not_fit_is_a_fault(void **state)
{
	static const uint8_t data[] = {1, 2, 3};
	struct profile *p = profile_new();

	(void)state;
	assert_non_null(
		take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, WIRE_BYTES), 3, data, 3)));
	assert_non_null(take_points(p, column_of(KEY(WIRE_POINTS_TIME_NS, 7), 3, data, 3)));
	profile_free(p);
}

static void a_column_that_claims_more_bytes_than_there_are_is_a_fault(void **state)
{
	static const uint8_t data[] = {1, 2, 3};
	struct codec_buffer in = column_of(KEY(WIRE_POINTS_TIME_NS, 0), 3, data, 3);
	struct profile *p = profile_new();

	(void)state;
	in.count--;
	assert_non_null(take_points(p, in));
	profile_free(p);
}

static void a_number_too_large_for_its_member_is_a_fault(void **state)
{
	static const uint8_t data[] = {0x80, 0x80, 0x80, 0x80, 0x10}; /* 2^32 */
	const struct table *t = &columns_vecs[COLUMNS_CHANGES];
	struct codec_buffer in = column_of(KEY(WIRE_CHANGES_SITE, WIRE_PLAIN), 1, data, 5);
	struct cursor c = cursor_init(in.at, in.count);
	struct profile *p = profile_new();

	(void)state;
	struct codec_block block = codec_take_block(&c);
	columns_set_count(t, p, 1);
	assert_int_equal(codec_take_rows(&c, t, p, block), -1);
	vec_free(&in);
	profile_free(p);
}

static void columns_that_are_all_zero_take_no_bytes(void **state)
{
	struct profile *p = profile_new();
	struct codec_buffer out = {0};

	(void)state;
	columns_set_count(&columns_vecs[COLUMNS_SITES], p, 1000);
	codec_put_rows(&out, &columns_vecs[COLUMNS_SITES], p, (struct codec_block){0, 1000});
	assert_int_equal(out.count, 3); /* first row, number of rows */
	vec_free(&out);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_varint_length_comes_back),
		cmocka_unit_test(a_varint_of_more_than_64_bits_is_a_fault_with_its_offset),
		cmocka_unit_test(the_first_fault_sticks),
		cmocka_unit_test(a_column_is_read_in_the_coding_that_the_file_names),
		cmocka_unit_test(an_unknown_column_is_skipped),
		cmocka_unit_test(a_column_with_too_few_numbers_is_a_fault),
		cmocka_unit_test(a_column_with_too_many_numbers_is_a_fault),
		cmocka_unit_test(a_column_in_a_coding_that_does_not_fit_is_a_fault),
		cmocka_unit_test(a_column_that_claims_more_bytes_than_there_are_is_a_fault),
		cmocka_unit_test(a_number_too_large_for_its_member_is_a_fault),
		cmocka_unit_test(columns_that_are_all_zero_take_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
