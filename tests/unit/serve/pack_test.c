/* pack_test.c -- a profile as the viewer's page reads it. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "packed.h"

static struct packed make(struct profile *p, const struct pack_request *more)
{
	struct model *m = model_new(p, &(struct model_options){0});
	struct pack_request r = *more;

	r.model = m;
	struct packed packed = packed_make(&r);
	model_free(m);
	profile_free(p);
	return packed;
}

static struct packed make_plain(struct profile *p)
{
	return make(p, &(struct pack_request){0});
}

/* The function of a site's innermost frame; the caller frees. */
static char *leaf_of(const struct packed *p, size_t site)
{
	uint32_t frame = packed_id(p, "node.frame", packed_id(p, "site.node", site));

	return packed_text(p, packed_id(p, "frame.function", frame));
}

static void expect_leaf(const struct packed *p, size_t site, const char *name)
{
	char *text = leaf_of(p, site);

	assert_string_equal(text, name);
	free(text);
}

static void an_empty_profile_has_a_root_and_no_rows(void **state)
{
	struct packed p = make_plain(sample_new());

	(void)state;
	assert_int_equal(packed_find(&p, "node.parent").count, 1);
	assert_int_equal(packed_find(&p, "site.node").count, 0);
	assert_int_equal(packed_find(&p, "point.time_ns").count, 0);
	assert_int_equal(packed_find(&p, "thread.name").count, 0);
	assert_int_equal(packed_find(&p, "size.count").count, PROFILE_SIZE_BUCKETS);
	assert_int_equal(packed_id(&p, "text.end", 0), 0);
	packed_free(&p);
}

static void a_profile_of_nothing_at_all_can_be_packed(void **state)
{
	struct packed p = make_plain(profile_new());

	(void)state;
	assert_int_equal(packed_find(&p, "node.parent").count, 1);
	packed_free(&p);
}

static void sites_have_their_figures_and_stacks(void **state)
{
	struct packed p = make_plain(sample_tables());

	(void)state;
	assert_int_equal(packed_find(&p, "site.node").count, 4);
	assert_true(packed_value(&p, "site.at_peak_bytes", 0) == 600);
	assert_true(packed_value(&p, "site.allocations", 2) == 2);
	assert_true(packed_value(&p, "site.live_bytes", 3) == 50);
	expect_leaf(&p, 0, "table_new");
	expect_leaf(&p, 3, "save");
	/* The last but one hangs below the last. */
	assert_int_equal(packed_id(&p, "node.parent", packed_id(&p, "site.node", 2)),
			 packed_id(&p, "site.node", 3));
	packed_free(&p);
}

static void parents_come_before_their_children(void **state)
{
	struct packed p = make_plain(sample_tables());
	size_t count = packed_find(&p, "node.parent").count;

	(void)state;
	assert_true(count > 1);
	for (size_t i = 1; i < count; i++)
		assert_true(packed_id(&p, "node.parent", i) < i);
	packed_free(&p);
}

static void none_is_minus_one_and_not_a_huge_number(void **state)
{
	struct packed p = make_plain(sample_tables());

	(void)state;
	assert_true(packed_value(&p, "site.lifetime_min_ns", 0) == -1.0);
	packed_free(&p);
}

static void hostile_names_come_through_byte_by_byte(void **state)
{
	static const char *const names[] = {
		"</script><script>alert(1)</script>",
		"\"quoted\\",
		"<!--midden-data-->",
		"\xff\xfe not UTF-8 \xc3",
		"line\nbreak\x01\x1b[31m",
		"../../etc/passwd",
	};
	size_t count = sizeof(names) / sizeof(names[0]);
	struct profile *profile = sample_new();

	(void)state;
	for (size_t i = 0; i < count; i++)
		sample_site(profile, sample_node(profile, 0, names[i], 1), 10, 1);
	struct packed p = make_plain(profile);
	for (size_t i = 0; i < count; i++)
		expect_leaf(&p, i, names[i]);
	assert_null(strstr(p.header, "script")); /* names are in columns alone */
	packed_free(&p);
}

static void equal_texts_are_kept_once(void **state)
{
	struct packed p = make_plain(sample_tables());
	size_t count = packed_find(&p, "text.end").count;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			char *a = packed_text(&p, i), *b = packed_text(&p, j);

			assert_string_not_equal(a, b);
			free(a);
			free(b);
		}
	}
	packed_free(&p);
}

static void the_header_tells_of_a_live_program(void **state)
{
	const struct pack_request live = {
		.live = true, .generation = 17, .texts = {.stats = "{\"pid\": 42}"}};
	struct packed p = make(sample_tables(), &live);
	struct packed dead = make_plain(sample_tables());

	(void)state;
	assert_non_null(strstr(p.header, "\"live\": true"));
	assert_non_null(strstr(p.header, "\"generation\": 17"));
	assert_non_null(strstr(p.header, "\"stats\": {\"pid\": 42}"));
	assert_non_null(strstr(p.header, "\"findings\": null"));
	assert_non_null(strstr(dead.header, "\"live\": false"));
	assert_non_null(strstr(dead.header, "\"stats\": null"));
	packed_free(&p);
	packed_free(&dead);
}

static void a_rule_is_named_at_the_leaks_that_it_excuses(void **state)
{
	struct suppress_list rules = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(suppress_parse(&rules, "leak:load\n", "rules", &e), 0);
	struct packed p = make(sample_tables(), &(struct pack_request){.suppress = &rules});
	char *rule = packed_text(&p, packed_id(&p, "site.rule", 0));
	assert_non_null(strstr(rule, "load"));
	assert_int_equal(packed_id(&p, "site.rule", 1), packed_id(&p, "site.rule", 0));
	assert_int_equal(packed_id(&p, "site.rule", 2), 0);
	free(rule);
	packed_free(&p);
	suppress_free(&rules);
}

static struct profile *map_over_time(uint64_t highest)
{
	struct profile *p = sample_tables();

	*vec_push(&p->map_kinds) = (struct profile_site){.kind = 0};
	p->map_totals.peak_bytes = 9000;
	p->points.count = 0;
	*vec_push(&p->points) = (struct profile_point){.time_ns = 1};
	*vec_push(&p->points) = (struct profile_point){.time_ns = 2,
						       .mapped_bytes = highest / 2,
						       .mapped_count = 3,
						       .mapped_peak_bytes = highest};
	p->changes.count = 0;
	p->snapshots.count = 0;
	return p;
}

static void maps_have_a_time_line_if_it_was_recorded(void **state)
{
	struct packed p = make_plain(map_over_time(9000));
	struct packed before = make_plain(map_over_time(0)); /* by a recorder that kept none */
	struct packed none = make_plain(sample_tables());

	(void)state;
	assert_int_equal(packed_find(&p, "point.mapped_bytes").count, 2);
	assert_true(packed_value(&p, "point.mapped_bytes", 1) == 4500);
	assert_true(packed_value(&p, "point.mapped_count", 1) == 3);
	assert_true(packed_value(&p, "point.mapped_peak_bytes", 1) == 9000);
	assert_null(strstr(before.header, "point.mapped"));
	assert_null(strstr(none.header, "point.mapped"));
	packed_free(&p);
	packed_free(&before);
	packed_free(&none);
}

/* A byte of a number of a column that is in planes. */
static unsigned byte_of(const struct packed_column *c, size_t row, size_t byte)
{
	return ((const uint8_t *)c->at)[byte * c->count + row];
}

static void long_columns_have_like_bytes_side_by_side(void **state)
{
	enum { ROWS = 8192 };
	struct profile *profile = sample_new();
	struct profile *shorter = sample_new();

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++) {
		*vec_push(&profile->points) = (struct profile_point){.time_ns = i * 1000003};
		if (i)
			*vec_push(&shorter->points) = (struct profile_point){.time_ns = i};
	}
	struct packed p = make_plain(profile), q = make_plain(shorter);
	struct packed_column times = packed_find(&p, "point.time_ns");
	assert_int_equal(times.count, ROWS);
	assert_true(times.is_in_planes);
	for (size_t row = 0; row < ROWS; row++) {
		uint8_t bytes[sizeof(double)];
		double time;

		for (size_t byte = 0; byte < sizeof(bytes); byte++)
			bytes[byte] = (uint8_t)byte_of(&times, row, byte);
		memcpy(&time, bytes, sizeof(time));
		assert_true(time == (double)(row * 1000003));
	}
	assert_null(strstr(q.header, "planes"));
	assert_true(packed_value(&q, "point.time_ns", ROWS - 2) == ROWS - 1);
	packed_free(&p);
	packed_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_profile_has_a_root_and_no_rows),
		cmocka_unit_test(a_profile_of_nothing_at_all_can_be_packed),
		cmocka_unit_test(sites_have_their_figures_and_stacks),
		cmocka_unit_test(parents_come_before_their_children),
		cmocka_unit_test(none_is_minus_one_and_not_a_huge_number),
		cmocka_unit_test(hostile_names_come_through_byte_by_byte),
		cmocka_unit_test(equal_texts_are_kept_once),
		cmocka_unit_test(the_header_tells_of_a_live_program),
		cmocka_unit_test(a_rule_is_named_at_the_leaks_that_it_excuses),
		cmocka_unit_test(maps_have_a_time_line_if_it_was_recorded),
		cmocka_unit_test(long_columns_have_like_bytes_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
