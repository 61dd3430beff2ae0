/* profile_test.c -- the life, strings and invariants of a profile in memory.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static void a_new_profile_passes_its_own_check(void **state)
{
	struct profile *p = profile_new();
	struct error e = {0};

	(void)state;
	assert_int_equal(profile_check(p, &e), 0);
	assert_int_equal(p->strings.count, 1);
	assert_int_equal(p->nodes.count, 1);
	profile_free(p);
	profile_free(NULL);
}

static void equal_strings_get_the_same_id(void **state)
{
	struct profile *p = profile_new();
	struct string_id a = profile_add_string(p, "main");
	struct string_id b = profile_add_string(p, "main.c");

	(void)state;
	assert_int_not_equal(a.v, b.v);
	assert_int_equal(profile_add_string(p, "main").v, a.v);
	assert_string_equal(profile_string(p, a), "main");
	assert_string_equal(profile_string(p, b), "main.c");
	profile_free(p);
}

static void no_string_and_the_empty_string_are_id_0(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_int_equal(profile_add_string(p, NULL).v, 0);
	assert_int_equal(profile_add_string(p, "").v, 0);
	assert_string_equal(profile_string(p, (struct string_id){0}), "");
	assert_string_equal(profile_string(p, (struct string_id){9999}), "");
	profile_free(p);
}

static void ten_thousand_strings_are_all_found_again(void **state)
{
	struct profile *p = profile_new();
	struct string_id *ids = mem_new(10000, sizeof(*ids));
	char text[32];

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text), "function_%u", i);
		ids[i] = profile_add_string(p, text);
	}
	size_t bytes = p->strings.count;
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text), "function_%u", i);
		assert_int_equal(profile_add_string(p, text).v, ids[i].v);
		assert_string_equal(profile_string(p, ids[i]), text);
	}
	assert_int_equal(p->strings.count, bytes);
	free(ids);
	profile_free(p);
}

static void strings_that_came_from_a_file_are_found_again(void **state)
{
	struct profile *p = fixture_small();
	struct fixture_bytes b = fixture_encode(p);
	struct error e = {0};
	struct profile *q = profile_parse(b.at, b.count, &e);

	(void)state;
	assert_non_null(q);
	assert_int_equal(profile_add_string(q, "/opt/app/bin/app").v, p->run.executable.v);
	assert_int_equal(q->strings.count, p->strings.count);
	free(b.at);
	profile_free(q);
	profile_free(p);
}

/* ---- each broken invariant is found ---------------------------------------------------------- */

static void break_parent(struct profile *p)
{
	p->nodes.at[4].parent = 4;
}

static void break_module(struct profile *p)
{
	p->nodes.at[4].module = (uint32_t)p->modules.count;
}

static void break_node_frames(struct profile *p)
{
	p->nodes.at[4].frames = (uint32_t)p->frames.count;
}

static void break_node_0(struct profile *p)
{
	p->nodes.at[0].pc = 1;
}

static void break_module_0(struct profile *p)
{
	p->modules.at[0].bias = 1;
}

static void break_frame_0(struct profile *p)
{
	p->frames.at[0].line = 1;
}

static void break_build_id(struct profile *p)
{
	p->modules.at[1].build_id_bytes = 33;
}

static void break_frame_chain(struct profile *p)
{
	p->frames.at[3].next = 3;
}

static void break_function(struct profile *p)
{
	p->frames.at[3].function.v = (uint32_t)p->strings.count;
}

static void break_module_path(struct profile *p)
{
	p->modules.at[1].path.v = (uint32_t)p->strings.count;
}

static void break_thread_name(struct profile *p)
{
	p->threads.at[0].name.v = (uint32_t)p->strings.count;
}

static void break_run(struct profile *p)
{
	p->run.version.v = (uint32_t)p->strings.count;
}

static void break_last_string(struct profile *p)
{
	p->strings.at[p->strings.count - 1] = 'x';
}

static void break_first_string(struct profile *p)
{
	p->strings.at[0] = 'x';
}

static void break_site(struct profile *p)
{
	p->sites.at[0].node = (uint32_t)p->nodes.count;
}

static void break_time(struct profile *p)
{
	p->points.at[2].time_ns = p->points.at[1].time_ns - 1;
}

static void break_change_point(struct profile *p)
{
	p->changes.at[p->changes.count - 1].point = (uint32_t)p->points.count;
}

static void break_change_site(struct profile *p)
{
	p->changes.at[0].site = (uint32_t)p->sites.count;
}

static void break_change_order(struct profile *p)
{
	p->changes.at[1] = p->changes.at[0];
}

static void break_part_site(struct profile *p)
{
	p->parts.at[p->parts.count - 1].site = (uint32_t)p->sites.count;
}

static void break_part_order(struct profile *p)
{
	p->parts.at[1].site = p->parts.at[0].site;
	p->parts.at[1].thread = p->parts.at[0].thread;
}

static void break_point_events(struct profile *p)
{
	p->points.at[2].events = 0;
}

static void break_clock(struct profile *p)
{
	p->run.clock_ns = 0;
}

static void break_block(struct profile *p)
{
	*vec_push(&p->blocks) = (struct profile_block){0, 0};
}

static void break_block_order(struct profile *p)
{
	*vec_push(&p->blocks) = (struct profile_block){1, 2};
	*vec_push(&p->blocks) = (struct profile_block){1, 1};
}

static void break_input(struct profile *p)
{
	p->inputs.at[1].host.v = (uint32_t)p->strings.count;
}

static void break_thread_input(struct profile *p)
{
	p->threads.at[0].input = (uint32_t)p->inputs.count + 1;
}

static void break_snapshot_point(struct profile *p)
{
	p->snapshots.at[1].point = (uint32_t)p->points.count;
}

static void break_snapshot_name(struct profile *p)
{
	p->snapshots.at[0].name.v = (uint32_t)p->strings.count;
}

static void break_snapshot_order(struct profile *p)
{
	p->snapshots.at[1].point = p->snapshots.at[0].point;
}

static void break_tag_parent(struct profile *p)
{
	p->tags.at[1].parent = 2;
}

static void break_tag_tree(struct profile *p)
{
	p->tags.at[3].parent = 1;
}

static void break_tag_name(struct profile *p)
{
	p->tags.at[0].name.v = (uint32_t)p->strings.count;
}

static void break_tag_snapshot(struct profile *p)
{
	p->tags.at[7].snapshot = (uint32_t)p->snapshots.count + 1;
}

static void break_survey_snapshot(struct profile *p)
{
	p->surveys.at[0].snapshot = (uint32_t)p->snapshots.count + 1;
}

static void break_survey_reason(struct profile *p)
{
	p->surveys.at[0].reason = PROFILE_REASONS;
}

static void break_survey_fault(struct profile *p)
{
	p->surveys.at[1].fault.v = (uint32_t)p->strings.count;
}

static void break_pin_site(struct profile *p)
{
	p->pins.at[5].site = (uint32_t)p->sites.count;
}

static void break_pin_survey(struct profile *p)
{
	p->pins.at[5].survey = 2;
}

static void break_pin_order(struct profile *p)
{
	p->pins.at[1].site = 0;
}

static void break_cell_pages(struct profile *p)
{
	p->cells.at[0].held_pages = 8;
}

static void break_cell_site(struct profile *p)
{
	p->cells.at[3].site = (uint32_t)p->sites.count + 1;
}

static void break_cell_order(struct profile *p)
{
	p->cells.at[1].start = 4096;
}

static void break_extent_module(struct profile *p)
{
	p->extents.at[1].module = (uint32_t)p->modules.count;
}

static void break_extent_order(struct profile *p)
{
	p->extents.at[1].start = p->extents.at[0].start + 1;
}

static void break_extent_size(struct profile *p)
{
	p->extents.at[1].bytes = UINT64_MAX;
}

static void break_variable_module(struct profile *p)
{
	p->variables.at[0].module = (uint32_t)p->modules.count;
}

static void break_variable_name(struct profile *p)
{
	p->variables.at[0].file.v = (uint32_t)p->strings.count;
}

static void break_variable_size(struct profile *p)
{
	p->variables.at[1].resident_bytes = p->variables.at[1].size_bytes + 1;
}

static void break_variable_order(struct profile *p)
{
	p->variables.at[2].size_bytes = UINT64_MAX;
}

static void break_depth_node(struct profile *p)
{
	p->depths.at[2].node = 0;
}

static void break_depth_order(struct profile *p)
{
	p->depths.at[1].thread = 7;
}

static void break_table(struct profile *p)
{
	p->frames.count = 0;
}

static void break_damage_text(struct profile *p)
{
	memset(p->damage, 'x', sizeof(p->damage));
}

static void every_broken_invariant_is_found(void **state)
{
	static void (*const breaks[])(struct profile *) = {break_parent,
							   break_module,
							   break_node_frames,
							   break_node_0,
							   break_module_0,
							   break_frame_0,
							   break_build_id,
							   break_frame_chain,
							   break_function,
							   break_module_path,
							   break_thread_name,
							   break_run,
							   break_last_string,
							   break_first_string,
							   break_site,
							   break_time,
							   break_change_point,
							   break_change_site,
							   break_change_order,
							   break_extent_module,
							   break_extent_order,
							   break_extent_size,
							   break_variable_module,
							   break_variable_name,
							   break_variable_size,
							   break_variable_order,
							   break_depth_node,
							   break_depth_order,
							   break_table,
							   break_damage_text,
							   break_part_site,
							   break_part_order,
							   break_point_events,
							   break_clock,
							   break_block,
							   break_block_order,
							   break_snapshot_point,
							   break_snapshot_name,
							   break_snapshot_order,
							   break_input,
							   break_thread_input,
							   break_tag_parent,
							   break_tag_tree,
							   break_tag_name,
							   break_tag_snapshot,
							   break_survey_snapshot,
							   break_survey_reason,
							   break_survey_fault,
							   break_pin_site,
							   break_pin_survey,
							   break_pin_order,
							   break_cell_pages,
							   break_cell_site,
							   break_cell_order};

	(void)state;
	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		struct profile *p = fixture_small();
		struct error e = {0};
		assert_int_equal(profile_check(p, &e), 0);
		breaks[i](p);
		if (!profile_check(p, &e))
			fail_msg("break %zu was not found", i);
		assert_true(e.set && e.text[0]);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_profile_passes_its_own_check),
		cmocka_unit_test(equal_strings_get_the_same_id),
		cmocka_unit_test(no_string_and_the_empty_string_are_id_0),
		cmocka_unit_test(ten_thousand_strings_are_all_found_again),
		cmocka_unit_test(strings_that_came_from_a_file_are_found_again),
		cmocka_unit_test(every_broken_invariant_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
