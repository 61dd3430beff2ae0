/* pprof_test.c -- profile.proto, read back field by field. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <zlib.h>

#include "exported.h"

#define PROTO_MOST 65536u

/* A message, or what is left of one. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
};

struct field {
	uint32_t number;
	uint64_t value;	     /* of a number */
	struct reader bytes; /* of anything else */
};

static uint8_t proto[PROTO_MOST];

static uint64_t take_varint(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(r->at < r->end && shift < 64);
		value |= (uint64_t)(*r->at & 0x7f) << shift;
		if (*r->at++ < 0x80)
			return value;
	}
}

static bool take_field(struct reader *r, struct field *f)
{
	if (r->at == r->end)
		return false;
	uint64_t key = take_varint(r);
	*f = (struct field){.number = (uint32_t)(key >> 3)};
	if ((key & 7) == 0) {
		f->value = take_varint(r);
		return true;
	}
	assert_int_equal(key & 7, 2);
	uint64_t length = take_varint(r);
	assert_true(length <= (uint64_t)(r->end - r->at));
	f->bytes = (struct reader){r->at, r->at + length};
	r->at += length;
	return true;
}

/* The n-th field of that number (from 0); false if there are not so many. */
static bool find_field(struct reader r, uint32_t number, unsigned n, struct field *f)
{
	while (take_field(&r, f))
		if (f->number == number && n-- == 0)
			return true;
	return false;
}

static struct field get_field(struct reader r, uint32_t number, unsigned n)
{
	struct field f;

	if (!find_field(r, number, n, &f))
		fail_msg("there is no field %u (%u)", number, n);
	return f;
}

static uint64_t get_number(struct reader r, uint32_t number)
{
	struct field f;

	return find_field(r, number, 0, &f) ? f.value : 0;
}

static struct reader unpack(struct profile *p, enum figure figure)
{
	struct exported x = exported_make("pprof", p, figure);
	z_stream z = {.next_in = (uint8_t *)x.text, .avail_in = (unsigned)x.bytes};

	z.next_out = proto;
	z.avail_out = sizeof(proto);
	assert_int_equal(inflateInit2(&z, 16 + 15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(inflateEnd(&z), Z_OK);
	free(x.text);
	return (struct reader){proto, proto + z.total_out};
}

static void assert_string(struct reader whole, uint64_t index, const char *expected)
{
	struct reader text = get_field(whole, 6, (unsigned)index).bytes;

	assert_int_equal(text.end - text.at, strlen(expected));
	assert_memory_equal(text.at, expected, strlen(expected));
}

static void assert_numbers(struct reader list, const uint64_t *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(take_varint(&list), expected[i]);
	assert_ptr_equal(list.at, list.end);
}

#define ASSERT_NUMBERS(list, ...)                             \
	assert_numbers(list, (const uint64_t[]){__VA_ARGS__}, \
		       sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void the_sample_types_are_those_of_a_heap_with_the_peak_last(void **state)
{
	static const char *const types[] = {"alloc_objects", "alloc_space",  "inuse_objects",
					    "inuse_space",   "peak_objects", "peak_space"};
	struct reader whole = unpack(sample_tables(), FIGURE_LEAKED);
	struct field none;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct reader type = get_field(whole, 1, i).bytes;
		assert_string(whole, get_number(type, 1), types[i]);
		assert_string(whole, get_number(type, 2), i % 2 ? "bytes" : "count");
	}
	assert_false(find_field(whole, 1, 6, &none));
	assert_string(whole, 0, "");
	assert_string(whole, get_number(whole, 14), "inuse_space");
	assert_int_equal(get_number(whole, 10), 1500000000);
	assert_int_equal(get_number(whole, 12), 1);
}

static void a_sample_is_a_stack_from_its_leaf_with_six_values(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);
	struct profile_site *site = sample_site(p, sample_node(p, root, "f", 2), 60, 6);

	(void)state;
	site->live_blocks = 2;
	site->live_bytes = 20;
	site->at_peak_blocks = 3;
	site->at_peak_bytes = 30;
	struct reader whole = unpack(p, FIGURE_PEAK);
	struct reader sample = get_field(whole, 2, 0).bytes;
	ASSERT_NUMBERS(get_field(sample, 1, 0).bytes, 1, 2);
	ASSERT_NUMBERS(get_field(sample, 2, 0).bytes, 6, 60, 2, 20, 3, 30);

	/* The leaf: node 2 is at offset 32, and its address is a return address. */
	struct reader leaf = get_field(whole, 4, 0).bytes;
	assert_int_equal(get_number(leaf, 1), 1);
	assert_int_equal(get_number(leaf, 2), 1);
	assert_int_equal(get_number(leaf, 3), SAMPLE_BIAS + 31);
	struct reader line = get_field(leaf, 4, 0).bytes;
	assert_int_equal(get_number(line, 2), 2);
	struct reader function = get_field(whole, 5, (unsigned)get_number(line, 1) - 1).bytes;
	assert_string(whole, get_number(function, 2), "f");
	assert_string(whole, get_number(function, 4), "/src/app.c");
}

static void inlined_functions_are_lines_of_one_location(void **state)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_frame(p, "outer", "/src/app.c", 3, 0);
	uint32_t inner = sample_frame(p, "inner", "/src/app.c", 2, outer);
	struct field none;

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, inner), 8, 1);
	struct reader whole = unpack(p, FIGURE_PEAK);
	struct reader location = get_field(whole, 4, 0).bytes;
	assert_false(find_field(whole, 4, 1, &none));
	assert_int_equal(get_number(get_field(location, 4, 0).bytes, 2), 2);
	assert_int_equal(get_number(get_field(location, 4, 1).bytes, 2), 3);
	ASSERT_NUMBERS(get_field(get_field(whole, 2, 0).bytes, 1, 0).bytes, 1);
}

static void the_program_is_the_first_mapping_and_has_its_build_id(void **state)
{
	struct profile *p = sample_new();
	uint32_t library = sample_module(p, "/lib/libx.so");
	struct string_id executable = profile_add_string(p, "/src/other");
	uint32_t program = sample_module(p, "/src/other");

	(void)state;
	p->run.executable = executable;
	p->modules.at[program].build_id_bytes = 3;
	memcpy(p->modules.at[program].build_id, "\x0a\xff\x01", 3);
	p->modules.at[program].map_start = 0x1000;
	p->modules.at[program].map_end = 0x3000;
	sample_site(p, sample_node_in(p, sample_node(p, 0, "f", 1), library, 0), 8, 1);
	struct reader whole = unpack(p, FIGURE_PEAK);
	struct reader first = get_field(whole, 3, 0).bytes;
	assert_int_equal(get_number(first, 1), program);
	assert_int_equal(get_number(first, 2), 0x1000);
	assert_int_equal(get_number(first, 3), 0x3000);
	assert_string(whole, get_number(first, 5), "/src/other");
	assert_string(whole, get_number(first, 6), "0aff01");
	/* What has symbols is not to be looked up again; the library has none. */
	assert_int_equal(get_number(get_field(whole, 3, 1).bytes, 7), 1);
	assert_int_equal(get_number(get_field(whole, 3, 2).bytes, 7), 0);
	struct field none;
	assert_false(find_field(get_field(whole, 4, 0).bytes, 4, 0, &none));
}

static void placeholders_are_nowhere_and_hidden_frames_are_not_there(void **state)
{
	struct profile *p = sample_new();
	uint32_t cut = sample_node_in(p, 0, 1, 0);
	uint32_t call = sample_node(p, cut, "f", 1);
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	struct field none;

	(void)state;
	p->nodes.at[cut].cut = true;
	sample_site(p, sample_node_in(p, call, libc, sample_frame(p, "malloc", "", 0, 0)), 8, 1);
	struct reader whole = unpack(p, FIGURE_PEAK);
	ASSERT_NUMBERS(get_field(get_field(whole, 2, 0).bytes, 1, 0).bytes, 1, 2);
	struct reader placeholder = get_field(whole, 4, 1).bytes;
	assert_false(find_field(placeholder, 2, 0, &none));
	assert_false(find_field(placeholder, 3, 0, &none));
	struct reader function = get_field(whole, 5, 1).bytes;
	assert_string(whole, get_number(function, 2), "[frames left out]");
}

static void losses_are_comments(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	p->totals.lost_events = 12;
	struct reader whole = unpack(p, FIGURE_PEAK);
	assert_string(whole, get_field(whole, 13, 1).value, "command: ./app -x");
	assert_string(whole, get_field(whole, 13, 2).value, "lost events: 12");
}

static void given_a_figure_without_sample_type_then_it_is_refused(void **state)
{
	struct export_request how = {.figure = FIGURE_TEMPORARY};
	struct profile *p = sample_tables();
	struct exported x;

	(void)state;
	assert_int_equal(exported_try(&x, export_find("pprof"), p, &how), -1);
	assert_int_equal(x.bytes, 0);
	free(x.text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sample_types_are_those_of_a_heap_with_the_peak_last),
		cmocka_unit_test(a_sample_is_a_stack_from_its_leaf_with_six_values),
		cmocka_unit_test(inlined_functions_are_lines_of_one_location),
		cmocka_unit_test(the_program_is_the_first_mapping_and_has_its_build_id),
		cmocka_unit_test(placeholders_are_nowhere_and_hidden_frames_are_not_there),
		cmocka_unit_test(losses_are_comments),
		cmocka_unit_test(given_a_figure_without_sample_type_then_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
