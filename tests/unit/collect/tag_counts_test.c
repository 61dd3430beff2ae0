/* tag_counts_test.c -- counters by tag come from the segment as they are, and whatever is there.
 * Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "producer.h"

static struct segment_map *map;
static struct collector *c;

static int set_up(void **state)
{
	(void)state;
	c = producer_new_collector(0);
	map = &c->map;
	return c ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	collect_free(c);
	return 0;
}

static struct segment_tag *add(uint32_t parent, uint32_t serial, const char *name)
{
	uint32_t index = atomic_fetch_add(&map->header->tags_used, 1) + 1;
	uint32_t text = atomic_fetch_add(&map->header->tag_text_used, (uint32_t)strlen(name) + 1);
	struct segment_tag *tag = &map->tags[index];

	tag->parent = parent;
	tag->name = text + 1;
	strcpy(map->tag_text + tag->name, name);
	atomic_store(&tag->serial, serial);
	return tag;
}

static struct profile *build(void)
{
	struct profile *p = collect_build_profile(c);
	struct error e = {0};

	if (profile_check(p, &e))
		fail_msg("%s", e.text);
	return p;
}

static void sizes_are_without_what_goes_with_each_block(void **state)
{
	(void)state;
	struct segment_tag *tag = add(0, 1, "name");
	tag->counts = (struct segment_tag_counts){
		.entered = 3,
		.requested_bytes = 10,
		.allocated_bytes = 2 * (24 + SEGMENT_TAG_EXTRA),
		.freed_bytes = 3 * (40 + SEGMENT_TAG_EXTRA),
		.frees = 2,
		.resizes = 1,
		.calls = {1, 0, 1},
	};
	struct profile *p = build();
	assert_int_equal(p->tags.count, 1);
	assert_string_equal(profile_string(p, p->tags.at[0].name), "name");
	assert_int_equal(p->tags.at[0].allocated_bytes, 48);
	assert_int_equal(p->tags.at[0].freed_bytes, 120);
	assert_int_equal(p->tags.at[0].entered, 3);
	profile_free(p);
}

static void a_snapshot_keeps_the_counts_of_its_moment(void **state)
{
	struct collect_snapshot kept;

	(void)state;
	struct segment_tag *root = add(0, 1, "");
	struct segment_tag *tag = add(1, 1, "tag");
	tag->counts.requested_bytes = 100;
	assert_true(collect_take_snapshot(c, "first", &kept));
	tag->counts.requested_bytes = 300;
	root->counts.requested_bytes = 5;
	struct profile *p = build();
	assert_int_equal(p->tags.count, 4);
	assert_int_equal(p->tags.at[1].requested_bytes, 300);
	assert_int_equal(p->tags.at[2].snapshot, 1);
	assert_int_equal(p->tags.at[3].requested_bytes, 100);
	assert_int_equal(p->tags.at[3].parent, 3);
	profile_free(p);
}

/* It was counted before it was made, and the figures started over in between. */
static void a_call_that_failed_after_a_clear_leaves_nothing(void **state)
{
	(void)state;
	struct segment_tag *tag = add(0, 1, "");
	tag->counts.calls[SEGMENT_API_MALLOC] = 1;
	tag->counts.requested_bytes = 100;
	tag_counts_clear(&c->tags, map);
	tag->counts.calls[SEGMENT_API_MALLOC] = 0;
	tag->counts.requested_bytes = 0;
	struct profile *p = build();
	assert_int_equal(p->tags.at[0].calls[PROFILE_API_MALLOC], 0);
	assert_int_equal(p->tags.at[0].requested_bytes, 0);
	assert_int_equal(p->totals.allocations, 0);
	profile_free(p);
}

static void what_makes_no_sense_is_left_out_with_all_inside_it(void **state)
{
	(void)state;
	add(0, 1, "root");
	add(2, 1, "its own parent");
	add(2, 1, "inside of that");
	add(9, 1, "of nobody");
	add(1, 2, "of another thread");
	add(1, 0, "not ready");
	add(6, 1, "inside of what is not ready");
	add(1, 1, "good");
	atomic_store(&map->header->tags_used, UINT32_MAX);
	struct profile *p = build();
	assert_int_equal(p->tags.count, 2);
	assert_string_equal(profile_string(p, p->tags.at[1].name), "good");
	profile_free(p);
}

static void a_name_ends_with_its_table(void **state)
{
	(void)state;
	struct segment_tag *tag = add(0, 1, "root");
	tag->name = UINT32_MAX;
	tag = add(1, 1, "long");
	tag->name = map->layout.tag_text_bytes - 4;
	memset(map->tag_text + tag->name, 'x', 4);
	struct profile *p = build();
	assert_string_equal(profile_string(p, p->tags.at[0].name), "");
	assert_string_equal(profile_string(p, p->tags.at[1].name), "xxxx");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes_are_without_what_goes_with_each_block, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_snapshot_keeps_the_counts_of_its_moment, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_call_that_failed_after_a_clear_leaves_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_left_out_with_all_inside_it,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_ends_with_its_table, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
