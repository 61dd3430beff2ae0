/* tree_test.c -- call trees add up, whichever way they are read. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/tree.h"
#include "sample.h"

struct fixture {
	struct profile *profile;
	struct model *model;
	struct tree *tree;
};

static void build(struct fixture *x, struct profile *p, enum figure f, enum tree_direction d)
{
	static const struct model_options usual = {0};

	x->profile = p;
	x->model = model_new(p, &usual);
	x->tree = tree_build(x->model, &(struct tree_view){.figure = f, .direction = d});
}

static void drop(struct fixture *x)
{
	tree_free(x->tree);
	model_free(x->model);
	profile_free(x->profile);
}

/* "name:line=bytes/blocks(children...)" of a node and all below it. */
static size_t write_node(const struct tree *t, const struct tree_node *n, char *text, size_t room)
{
	const struct model_frame *f = model_get_frame(t->model, n->frame);
	size_t used = (size_t)snprintf(text, room, "%s:%u=%ju/%ju", f->function, f->line,
				       (uintmax_t)n->amount.bytes, (uintmax_t)n->amount.blocks);

	for (uint32_t i = 0; i < n->child_count; i++) {
		used += (size_t)snprintf(text + used, room - used, i ? " " : "(");
		used += write_node(t, tree_get_child(t, n, i), text + used, room - used);
	}
	if (n->child_count)
		used += (size_t)snprintf(text + used, room - used, ")");
	return used;
}

static void assert_tree(const struct tree *t, const char *expected)
{
	char text[4096] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < t->nodes.at[0].child_count; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, i ? " " : "");
		used += write_node(t, tree_get_child(t, &t->nodes.at[0], i), text + used,
				   sizeof(text) - used);
	}
	assert_string_equal(text, expected);
}

static void the_inverted_tree_starts_at_the_allocating_function(void **state)
{
	struct fixture x;

	(void)state;
	build(&x, sample_tables(), FIGURE_PEAK, TREE_INVERTED);
	assert_tree(x.tree, "table_new:30=950/9("
			    "load:20=600/6(main:10=600/6) "
			    "save:40=250/2(main:11=250/2) "
			    "load:21=100/1(main:10=100/1)) "
			    "save:40=50/1(main:11=50/1)");
	assert_int_equal(x.tree->nodes.at[0].amount.bytes, 1000);
	drop(&x);
}

static void the_top_down_tree_starts_at_the_programs_start(void **state)
{
	struct fixture x;

	(void)state;
	build(&x, sample_tables(), FIGURE_PEAK, TREE_TOP_DOWN);
	assert_tree(x.tree, "main:10=700/7("
			    "load:20=600/6(table_new:30=600/6) "
			    "load:21=100/1(table_new:30=100/1)) "
			    "main:11=300/3(save:40=300/3(table_new:30=250/2))");
	drop(&x);
}

static void given_by_function_then_the_lines_of_a_function_are_one_node(void **state)
{
	struct fixture x;

	(void)state;
	build(&x, sample_tables(), FIGURE_PEAK, TREE_TOP_DOWN);
	tree_free(x.tree);
	x.tree = tree_build(x.model,
			    &(struct tree_view){.direction = TREE_TOP_DOWN, .by_function = true});
	assert_tree(x.tree, "main:10=1000/10(load:20=700/7(table_new:30=700/7) "
			    "save:40=300/3(table_new:30=250/2))");
	drop(&x);
}

static void every_node_is_its_children_and_itself(void **state)
{
	struct fixture x;

	(void)state;
	for (int d = TREE_INVERTED; d <= TREE_TOP_DOWN; d++) {
		build(&x, sample_tables(), FIGURE_PEAK, (enum tree_direction)d);
		for (size_t i = 0; i < x.tree->nodes.count; i++) {
			const struct tree_node *n = &x.tree->nodes.at[i];
			struct amount sum = n->self;
			for (uint32_t k = 0; k < n->child_count; k++)
				sum = amount_plus(sum, tree_get_child(x.tree, n, k)->amount);
			assert_int_equal(sum.bytes, n->amount.bytes);
			assert_int_equal(sum.blocks, n->amount.blocks);
		}
		drop(&x);
	}
}

/* fib -> fib -> fib, allocating at depths 1, 2 and 3. */
static struct profile *recursion(void)
{
	struct profile *p = sample_new();
	uint32_t node = sample_node(p, 0, "main", 1);

	for (unsigned i = 0; i < 3; i++) {
		node = sample_node(p, node, "fib", 5);
		sample_site(p, node, 10, 1);
	}
	return p;
}

static void given_recursion_then_no_byte_is_counted_twice(void **state)
{
	struct fixture x;

	(void)state;
	build(&x, recursion(), FIGURE_PEAK, TREE_TOP_DOWN);
	assert_tree(x.tree, "main:1=30/3(fib:5=30/3(fib:5=20/2(fib:5=10/1)))");
	drop(&x);
	build(&x, recursion(), FIGURE_PEAK, TREE_INVERTED);
	assert_tree(x.tree, "fib:5=30/3("
			    "fib:5=20/2(fib:5=10/1(main:1=10/1) main:1=10/1) "
			    "main:1=10/1)");
	drop(&x);
}

static void equal_values_are_ordered_by_name(void **state)
{
	struct fixture x;
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "zebra", 1), 10, 1);
	sample_site(p, sample_node(p, 0, "ant", 1), 10, 1);
	sample_site(p, sample_node(p, 0, "mole", 1), 10, 1);
	build(&x, p, FIGURE_PEAK, TREE_INVERTED);
	assert_tree(x.tree, "ant:1=10/1 mole:1=10/1 zebra:1=10/1");
	drop(&x);
}

static void calls_are_ordered_by_number_and_not_by_bytes(void **state)
{
	struct fixture x;
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "big", 1), 1000, 1);
	sample_site(p, sample_node(p, 0, "often", 1), 10, 10);
	build(&x, p, FIGURE_CALLS, TREE_INVERTED);
	assert_tree(x.tree, "often:1=10/10 big:1=1000/1");
	drop(&x);
}

static void sites_without_the_figure_are_left_out(void **state)
{
	struct fixture x;
	struct profile *p = sample_tables();

	(void)state;
	p->sites.at[2].temporary = 2;
	build(&x, p, FIGURE_TEMPORARY, TREE_INVERTED);
	assert_tree(x.tree, "table_new:30=0/2(save:40=0/2(main:11=0/2))");
	drop(&x);
}

static void a_block_of_no_bytes_is_in_the_tree(void **state)
{
	struct fixture x;
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "nothing", 1), 0, 3);
	build(&x, p, FIGURE_LEAKED, TREE_INVERTED);
	assert_tree(x.tree, "nothing:1=0/3");
	drop(&x);
}

static const struct tree_node *build_view(struct fixture *x, const struct tree_view *view)
{
	static const struct model_options usual = {0};

	x->profile = sample_tables();
	x->model = model_new(x->profile, &usual);
	x->tree = tree_build(x->model, view);
	return &x->tree->nodes.at[0];
}

static void given_a_threshold_then_shown_and_rest_are_the_whole(void **state)
{
	struct fixture x;
	const struct tree_node *whole = build_view(&x, &(struct tree_view){.threshold = 20.0});
	const struct tree_node *table_new = tree_get_child(x.tree, whole, 0);
	uint32_t shown = tree_get_shown(x.tree, table_new, 1);

	(void)state;
	assert_int_equal(shown, 2);
	assert_int_equal(tree_get_rest(x.tree, table_new, shown).bytes, 100);
	assert_int_equal(tree_get_rest(x.tree, table_new, shown).blocks, 1);
	assert_int_equal(tree_get_rest(x.tree, table_new, 3).bytes, 0);
	drop(&x);
}

static void given_a_limit_then_each_node_shows_so_many_and_the_rest_is_stated(void **state)
{
	struct fixture x;
	const struct tree_node *whole = build_view(&x, &(struct tree_view){.limit = 1});
	const struct tree_node *table_new = tree_get_child(x.tree, whole, 0);

	(void)state;
	assert_true(table_new->child_count > 1);
	assert_int_equal(tree_get_shown(x.tree, whole, 0), 1);
	assert_int_equal(tree_get_shown(x.tree, table_new, 1), 1);
	assert_int_equal(tree_get_rest(x.tree, table_new, 1).bytes +
				 tree_get_child(x.tree, table_new, 0)->amount.bytes,
			 table_new->amount.bytes);
	drop(&x);
}

static void given_a_threshold_then_nothing_is_built_below_what_is_left_out(void **state)
{
	struct fixture x;

	(void)state;
	(void)build_view(&x, &(struct tree_view){.threshold = 20.0});
	assert_tree(x.tree, "table_new:30=950/9("
			    "load:20=600/6(main:10=600/6) "
			    "save:40=250/2(main:11=250/2) "
			    "load:21=100/1) "
			    "save:40=50/1");
	drop(&x);
}

static void given_a_depth_then_one_level_more_is_known_and_not_shown(void **state)
{
	struct fixture x;
	const struct tree_node *whole = build_view(&x, &(struct tree_view){.depth = 1});

	(void)state;
	assert_int_equal(tree_get_shown(x.tree, whole, 0), 2);
	assert_int_equal(tree_get_child(x.tree, whole, 0)->child_count, 3);
	assert_int_equal(tree_get_shown(x.tree, tree_get_child(x.tree, whole, 0), 1), 0);
	assert_int_equal(tree_get_child(x.tree, tree_get_child(x.tree, whole, 0), 0)->child_count,
			 0);
	drop(&x);
}

static void given_other_amounts_then_the_tree_is_of_them(void **state)
{
	static const struct amount amounts[] = {
		{0}, {.bytes = 7, .blocks = 1}, {.bytes = 3, .blocks = 2}, {0}};
	static const struct tree_view view = {.direction = TREE_TOP_DOWN, .by_function = true};
	struct fixture x;

	(void)state;
	build(&x, sample_tables(), FIGURE_PEAK, TREE_INVERTED);
	tree_free(x.tree);
	x.tree = tree_build_of(x.model, &view, amounts);
	const struct tree_node *whole = &x.tree->nodes.at[0];
	const struct tree_node *start = tree_get_child(x.tree, whole, 0);
	assert_int_equal(whole->amount.bytes, 10);
	assert_int_equal(whole->amount.blocks, 3);
	assert_int_equal(start->child_count, 2);
	assert_int_equal(tree_get_child(x.tree, start, 0)->amount.bytes, 7);
	assert_int_equal(tree_get_child(x.tree, start, 1)->amount.bytes, 3);
	drop(&x);
}

static void an_empty_profile_gives_an_empty_tree(void **state)
{
	struct fixture x;

	(void)state;
	build(&x, profile_new(), FIGURE_PEAK, TREE_INVERTED);
	assert_int_equal(x.tree->nodes.at[0].child_count, 0);
	assert_true(tree_get_share(x.tree, x.tree->nodes.at[0].amount) == 0.0);
	drop(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_inverted_tree_starts_at_the_allocating_function),
		cmocka_unit_test(the_top_down_tree_starts_at_the_programs_start),
		cmocka_unit_test(given_by_function_then_the_lines_of_a_function_are_one_node),
		cmocka_unit_test(every_node_is_its_children_and_itself),
		cmocka_unit_test(given_recursion_then_no_byte_is_counted_twice),
		cmocka_unit_test(equal_values_are_ordered_by_name),
		cmocka_unit_test(calls_are_ordered_by_number_and_not_by_bytes),
		cmocka_unit_test(sites_without_the_figure_are_left_out),
		cmocka_unit_test(a_block_of_no_bytes_is_in_the_tree),
		cmocka_unit_test(given_a_threshold_then_shown_and_rest_are_the_whole),
		cmocka_unit_test(given_a_threshold_then_nothing_is_built_below_what_is_left_out),
		cmocka_unit_test(given_a_limit_then_each_node_shows_so_many_and_the_rest_is_stated),
		cmocka_unit_test(given_a_depth_then_one_level_more_is_known_and_not_shown),
		cmocka_unit_test(given_other_amounts_then_the_tree_is_of_them),
		cmocka_unit_test(an_empty_profile_gives_an_empty_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
