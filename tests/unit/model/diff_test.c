/* diff_test.c -- what changed between two profiles. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/diff_tree.h"
#include "pair.h"

/* All rows and what is unchanged come to the whole, on both sides. */
static void assert_adds_up(const struct diff *d)
{
	for (unsigned side = 0; side < 2; side++) {
		struct amount sum = d->same;
		for (size_t i = 0; i < d->rows.count; i++)
			if (!diff_is_caller(&d->rows.at[i]))
				sum = amount_plus(sum, d->rows.at[i].amounts[side]);
		assert_int_equal(sum.bytes, d->whole[side].bytes);
		assert_int_equal(sum.blocks, d->whole[side].blocks);
	}
}

static const char *row_name(const struct diff *d, const struct diff_row *row)
{
	unsigned side = diff_get_side(row);
	uint32_t frame = row->subjects[side];
	struct model_stack stack = {0};

	if (d->by == DIFF_BY_STACK) {
		model_get_stack(d->models[side], frame, &stack);
		frame = stack.frames.at[0];
		vec_free(&stack.frames);
	}
	return model_get_frame(d->models[side], frame)->function;
}

/* Rows as "status function old>new", then what is unchanged; frees everything. */
static void assert_diff(struct profile *before, struct profile *now, enum diff_by by,
			const char *expected)
{
	static const char *const statuses[] = {"same", "grown", "shrunk", "new", "gone"};
	struct pair c = pair_new(before, now, FIGURE_PEAK, by);
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < c.diff->rows.count; i++) {
		const struct diff_row *row = &c.diff->rows.at[i];
		const struct amount *a = diff_is_caller(row) ? row->totals : row->amounts;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s%s %ju>%ju; ",
					 statuses[row->status], diff_is_caller(row) ? "~" : "",
					 row_name(c.diff, row), (uintmax_t)a[0].bytes,
					 (uintmax_t)a[1].bytes);
	}
	(void)snprintf(text + used, sizeof(text) - used, "same %ju", (uintmax_t)c.diff->same.bytes);
	assert_adds_up(c.diff);
	pair_free(&c);
	assert_string_equal(text, expected);
}

/* A profile with one stack, functions from the root on, ended by NULL; line numbers begin at
 * `line`. */
static void add_stack(struct profile *p, const char *const *functions, uint32_t line,
		      uint64_t bytes)
{
	uint32_t node = 0;

	for (; *functions; functions++)
		node = sample_node(p, node, *functions, line++);
	sample_site(p, node, bytes, 1);
}

#define STACK(p, line, bytes, ...) \
	add_stack(p, (const char *const[]){__VA_ARGS__, NULL}, line, bytes)

static void a_profile_does_not_differ_from_itself(void **state)
{
	(void)state;
	for (unsigned by = 0; by < DIFF_BY_KINDS; by++)
		assert_diff(sample_tables(), sample_tables(), (enum diff_by)by, "same 1000");
}

static void empty_profiles_do_not_differ(void **state)
{
	(void)state;
	assert_diff(profile_new(), profile_new(), DIFF_BY_STACK, "same 0");
	assert_diff(profile_new(), sample_new(), DIFF_BY_FUNCTION, "same 0");
}

static void what_grew_comes_first_then_what_shrank(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 500, "main", "shrinks");
	STACK(before, 1, 10, "main", "grows");
	STACK(before, 1, 3000, "main", "goes");
	STACK(before, 1, 7, "main", "stays");
	STACK(now, 1, 100, "main", "shrinks");
	STACK(now, 1, 20, "main", "grows");
	STACK(now, 1, 15, "main", "comes");
	STACK(now, 1, 7, "main", "stays");
	assert_diff(before, now, DIFF_BY_STACK,
		    "new comes 0>15; grown grows 10>20; gone goes 3000>0; "
		    "shrunk shrinks 500>100; same 7");
}

static void other_addresses_lines_and_clones_pair(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 100, "main", "load", "table_new");
	sample_node(now, 0, "something_else", 1); /* moves all addresses */
	now->modules.at[1].bias += 0x5000;
	STACK(now, 40, 130, "main", "load.constprop.0", "table_new.isra.0.part.0");
	assert_diff(before, now, DIFF_BY_STACK, "grown table_new.isra.0.part.0 100>130; same 0");
}

static void the_program_may_have_another_name_and_libraries_another_version(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();
	uint32_t z[2] = {sample_module(before, "/lib/libz.so.1.2.13"),
			 sample_module(now, "/opt/libz.so.1.3")};

	(void)state;
	now->run.executable = profile_add_string(now, "/src/app-new");
	now->modules.at[1].path = now->run.executable;
	uint32_t main1 = sample_node(before, 0, "main", 1), main2 = sample_node(now, 0, "main", 9);
	sample_site(before,
		    sample_node_in(before, main1, z[0], sample_frame(before, "deflate", "", 0, 0)),
		    10, 1);
	sample_site(now, sample_node_in(now, main2, z[1], sample_frame(now, "deflate", "", 0, 0)),
		    12, 1);
	assert_diff(before, now, DIFF_BY_STACK, "grown deflate 10>12; same 0");
}

/* `make` in two lines of the same callers. */
static struct profile *make_twice(uint32_t first, uint32_t second)
{
	struct profile *p = sample_new();

	STACK(p, first, 100, "main", "make");
	STACK(p, second, 200, "main", "make");
	return p;
}

static void lines_tell_equal_stacks_apart_where_they_are_unchanged(void **state)
{
	struct profile *before = make_twice(10, 20), *now = make_twice(10, 20);

	(void)state;
	STACK(now, 30, 5, "main", "make");
	assert_diff(before, now, DIFF_BY_STACK, "new make 0>5; same 300");
}

static void lines_that_were_pushed_down_pair_in_their_order(void **state)
{
	struct profile *before = make_twice(10, 20), *now = sample_new();

	(void)state;
	STACK(now, 13, 100, "main", "make");
	STACK(now, 24, 201, "main", "make");
	assert_diff(before, now, DIFF_BY_STACK, "grown make 200>201; same 100");
}

static void what_cannot_be_told_apart_is_summed(void **state)
{
	struct profile *before = make_twice(10, 20), *now = make_twice(13, 24);

	(void)state;
	STACK(now, 35, 5, "main", "make");
	assert_diff(before, now, DIFF_BY_STACK, "grown make 300>305; same 0");
}

static void inlined_frames_pair_with_a_build_that_does_not_show_them(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();
	uint32_t main_frame = sample_frame(now, "main", "", 5, 0);
	uint32_t inlined = sample_frame(now, "helper", "", 6, main_frame);

	(void)state;
	STACK(before, 1, 10, "start", "main");
	sample_site(now, sample_node_in(now, sample_node(now, 0, "start", 2), 1, inlined), 11, 1);
	assert_diff(before, now, DIFF_BY_STACK, "grown helper 10>11; same 0");
}

static void an_inlined_function_without_parameters_pairs_with_its_symbol(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 10, "main", "(anonymous namespace)::add(int)");
	STACK(now, 1, 11, "main", "(anonymous namespace)::add");
	assert_diff(before, now, DIFF_BY_STACK, "grown (anonymous namespace)::add 10>11; same 0");
}

static void a_new_wrapper_does_not_break_a_pair(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 10, "main", "read", "make");
	STACK(now, 1, 10, "main", "read", "wrapper", "make");
	assert_diff(before, now, DIFF_BY_STACK, "same 10");
}

static void a_tail_call_does_not_break_a_pair(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 10, "main", "read", "parse", "make");
	STACK(before, 1, 1, "main", "parse", "other");
	STACK(now, 1, 10, "main", "read", "make");
	STACK(now, 1, 1, "main", "parse", "other");
	assert_diff(before, now, DIFF_BY_STACK, "same 11");
}

static void another_function_at_the_same_place_is_not_the_same(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 1, 10, "main", "save", "make");
	STACK(now, 1, 100, "main", "hoard", "make");
	assert_diff(before, now, DIFF_BY_STACK, "new make 0>100; gone make 10>0; same 0");
}

static void addresses_count_only_in_the_same_build(void **state)
{
	(void)state;
	for (unsigned same = 0; same < 2; same++) {
		struct profile *p[2] = {sample_new(), sample_new()};
		for (unsigned i = 0; i < 2; i++) {
			p[i]->modules.at[1].build_id_bytes = 4;
			p[i]->modules.at[1].build_id[0] = same ? 7 : (uint8_t)i;
			sample_site(p[i], sample_node_in(p[i], 0, 1, 0), 10, 1);
			sample_site(p[i], sample_node_in(p[i], 0, 1, 0), 20 + i, 1);
		}
		assert_diff(p[0], p[1], DIFF_BY_STACK,
			    same ? "grown  20>21; same 10" : "grown  30>31; same 0");
	}
}

static void by_function_callers_follow_what_they_called(void **state)
{
	struct profile *before = sample_tables(), *now = sample_tables();

	(void)state;
	STACK(now, 60, 40, "main", "save", "hoard");
	assert_diff(before, now, DIFF_BY_FUNCTION,
		    "new hoard 0>40; grown ~main 1000>1040; grown ~save 300>340; same 1000");
}

static void by_line_and_by_module_add_up(void **state)
{
	struct profile *before = sample_tables(), *now = sample_tables();
	uint32_t other = sample_module(now, "/lib/libother.so.1");

	(void)state;
	sample_site(now, sample_node_in(now, 0, other, sample_frame(now, "far", "", 0, 0)), 9, 1);
	STACK(now, 40, 100, "main", "save");
	assert_diff(before, now, DIFF_BY_LINE, "new save 0>100; new far 0>9; same 1000");
	before = sample_tables();
	now = sample_tables();
	STACK(now, 40, 100, "main", "save");
	assert_diff(before, now, DIFF_BY_MODULE, "grown load 1000>1100; same 0");
}

static void what_cannot_be_told_apart_is_named_by_the_one_that_has_most(void **state)
{
	struct profile *before = sample_new(), *now = sample_new();

	(void)state;
	STACK(before, 10, 10, "f");
	STACK(before, 20, 20, "f");
	STACK(now, 11, 1, "f");
	STACK(now, 21, 500, "f");
	STACK(now, 31, 2, "f");
	struct pair c = pair_new(before, now, FIGURE_PEAK, DIFF_BY_LINE);
	assert_int_equal(c.diff->rows.count, 1);
	const uint32_t *subjects = c.diff->rows.at[0].subjects;
	assert_int_equal(model_get_frame(c.diff->models[0], subjects[0])->line, 20);
	assert_int_equal(model_get_frame(c.diff->models[1], subjects[1])->line, 21);
	pair_free(&c);
}

static void suppressed_leaks_are_set_apart_on_both_sides(void **state)
{
	struct profile *before = sample_tables(), *now = sample_tables();
	static const struct model_options usual = {0};
	const bool old[] = {false, true, false, false};
	const bool new[] = {false, true, false, false, true, false};

	(void)state;
	STACK(now, 60, 5000, "main", "keeps");
	STACK(now, 61, 9, "main", "leaks");
	struct model *of[2] = {model_new(before, &usual), model_new(now, &usual)};
	const struct model *models[2] = {of[0], of[1]};
	for (unsigned leaked = 0; leaked < 2; leaked++) {
		struct diff *d =
			diff_build(models, &(struct diff_request){.figure = leaked ? FIGURE_LEAKED
										   : FIGURE_PEAK,
								  .suppressed = {old, new}});
		assert_adds_up(d);
		assert_int_equal(d->rows.count, leaked ? 1 : 2);
		assert_int_equal(d->suppressed[0].bytes, 100);
		assert_int_equal(d->suppressed[1].bytes, 5100);
		assert_int_equal(d->whole[1].bytes, leaked ? 909 : 6009);
		assert_int_equal(diff_get_total(d, 1, FIGURE_LEAKED).bytes, 909);
		assert_int_equal(diff_get_total(d, 1, FIGURE_PEAK).bytes, 6009);
		diff_free(d);
	}
	for (unsigned i = 0; i < 2; i++)
		model_free(of[i]);
	profile_free(before);
	profile_free(now);
}

static void a_tree_has_the_changes_of_all_rows(void **state)
{
	struct profile *before = sample_tables(), *now = sample_tables();
	static const struct tree_view view = {0};

	(void)state;
	STACK(now, 60, 40, "main", "save", "hoard");
	before->sites.at[0].at_peak_bytes += 25;
	struct pair c = pair_new(before, now, FIGURE_PEAK, DIFF_BY_STACK);
	struct diff_tree *t = diff_tree_build(c.diff, &view);
	assert_int_equal(t->nodes.at[0].delta.bytes, 40 - 25);
	assert_int_equal(t->nodes.at[0].gross, 40 + 25);
	assert_int_equal(t->nodes.at[0].child_count, 2);
	const struct diff_node *first = &t->nodes.at[t->nodes.at[0].first_child];
	assert_string_equal(model_get_frame(c.models[first->side], first->frame)->function,
			    "hoard");
	assert_int_equal(first->delta.bytes, 40);
	assert_int_equal(first[1].delta.bytes, -25);
	assert_int_equal(first->child_count, 1);
	diff_tree_free(t);
	pair_free(&c);
}

static void kinds_are_found_by_name(void **state)
{
	(void)state;
	for (unsigned by = 0; by < DIFF_BY_KINDS; by++)
		assert_int_equal(diff_by_find(diff_by_name((enum diff_by)by)), by);
	assert_int_equal(diff_by_find("address"), DIFF_BY_KINDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_does_not_differ_from_itself),
		cmocka_unit_test(empty_profiles_do_not_differ),
		cmocka_unit_test(what_grew_comes_first_then_what_shrank),
		cmocka_unit_test(other_addresses_lines_and_clones_pair),
		cmocka_unit_test(the_program_may_have_another_name_and_libraries_another_version),
		cmocka_unit_test(lines_tell_equal_stacks_apart_where_they_are_unchanged),
		cmocka_unit_test(lines_that_were_pushed_down_pair_in_their_order),
		cmocka_unit_test(what_cannot_be_told_apart_is_summed),
		cmocka_unit_test(inlined_frames_pair_with_a_build_that_does_not_show_them),
		cmocka_unit_test(an_inlined_function_without_parameters_pairs_with_its_symbol),
		cmocka_unit_test(a_new_wrapper_does_not_break_a_pair),
		cmocka_unit_test(a_tail_call_does_not_break_a_pair),
		cmocka_unit_test(another_function_at_the_same_place_is_not_the_same),
		cmocka_unit_test(addresses_count_only_in_the_same_build),
		cmocka_unit_test(by_function_callers_follow_what_they_called),
		cmocka_unit_test(by_line_and_by_module_add_up),
		cmocka_unit_test(what_cannot_be_told_apart_is_named_by_the_one_that_has_most),
		cmocka_unit_test(suppressed_leaks_are_set_apart_on_both_sides),
		cmocka_unit_test(a_tree_has_the_changes_of_all_rows),
		cmocka_unit_test(kinds_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
