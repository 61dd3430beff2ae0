/* model_test.c -- stacks of named frames over a profile. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/model.h"
#include "sample.h"

static const struct model_options usual = {0};
static const struct model_options all_frames = {.all_frames = true};

/* The functions of a site's stack, joined by spaces; addresses as module+offset. */
static const char *stack_text(const struct profile *p, const struct model_options *options,
			      size_t site)
{
	static char text[4096];
	struct model *m = model_new(p, options);
	struct model_stack stack = {0};
	size_t used = 0;

	model_get_stack(m, site, &stack);
	text[0] = '\0';
	for (size_t i = 0; i < stack.frames.count && i < 32; i++) {
		const struct model_frame *f = model_get_frame(m, stack.frames.at[i]);
		const char *space = i ? " " : "";
		if (*f->function)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", space,
						 f->function);
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s+%#jx",
						 space, f->module, (uintmax_t)f->offset);
	}
	vec_free(&stack.frames);
	model_free(m);
	return text;
}

static void a_stack_reads_from_the_allocating_function_outwards(void **state)
{
	struct profile *p = sample_tables();

	(void)state;
	assert_string_equal(stack_text(p, &usual, 0), "table_new load main");
	assert_string_equal(stack_text(p, &usual, 3), "save main");
	profile_free(p);
}

static void inlined_frames_come_before_the_function_they_are_in(void **state)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_frame(p, "outer", "/src/app.c", 3, 0);
	uint32_t inner = sample_frame(p, "inner", "/src/app.c", 2, outer);
	struct model_stack stack = {0};

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, inner), 8, 1);
	assert_string_equal(stack_text(p, &usual, 0), "inner outer");

	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &stack);
	assert_true(model_get_frame(m, stack.frames.at[0])->inlined);
	assert_false(model_get_frame(m, stack.frames.at[1])->inlined);
	vec_free(&stack.frames);
	model_free(m);
	profile_free(p);
}

static void calls_name_the_node_of_each_frame_and_hide_what_stacks_hide(void **state)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_frame(p, "outer", "/src/app.c", 3, 0);
	uint32_t root = sample_node(p, 0, "main", 1);
	uint32_t call = sample_node_in(p, root, 1, sample_frame(p, "in", "/src/app.c", 2, outer));
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t entry = sample_node_in(p, call, libc, sample_frame(p, "malloc", "", 0, 0));
	struct model_stack stack = {0}, origins = {0};

	(void)state;
	sample_site(p, entry, 8, 1);
	sample_site(p, 0, 8, 1);
	struct model *m = model_new(p, &usual);
	model_get_calls(m, 0, &stack, &origins);
	assert_int_equal(stack.frames.count, 3);
	assert_int_equal(origins.frames.count, 3);
	assert_int_equal(origins.frames.at[0], call);
	assert_int_equal(origins.frames.at[1], call);
	assert_int_equal(origins.frames.at[2], root);
	assert_string_equal(model_get_frame(m, stack.frames.at[0])->function, "in");
	model_get_calls(m, 1, &stack, &origins);
	assert_int_equal(origins.frames.count, 1);
	assert_int_equal(origins.frames.at[0], 0);
	vec_free(&stack.frames);
	vec_free(&origins.frames);
	model_free(m);
	profile_free(p);
}

static void given_equal_locations_at_different_addresses_then_they_share_one_id(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	struct model_stack a = {0}, b = {0};

	(void)state;
	model_get_stack(m, 0, &a);
	model_get_stack(m, 1, &b);
	assert_int_equal(a.frames.at[0], b.frames.at[0]);     /* table_new:30 */
	assert_int_not_equal(a.frames.at[1], b.frames.at[1]); /* load:20, load:21 */
	assert_int_equal(model_get_frame(m, a.frames.at[1])->group,
			 model_get_frame(m, b.frames.at[1])->group);
	/* The stacks' last nodes are 6, 7 and 8: any would do, the lowest is told. */
	assert_int_equal(model_get_frame(m, a.frames.at[0])->seen_at, 6 * 16);
	vec_free(&a.frames);
	vec_free(&b.frames);
	model_free(m);
	profile_free(p);
}

static void ids_are_in_the_order_of_the_names(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);

	(void)state;
	for (uint32_t i = 1; i < model_get_frame_count(m); i++)
		assert_true(strcmp(model_get_frame(m, i - 1)->function,
				   model_get_frame(m, i)->function) <= 0);
	model_free(m);
	profile_free(p);
}

static void functions_of_one_name_in_two_modules_stay_apart(void **state)
{
	struct profile *p = sample_new();
	uint32_t other = sample_module(p, "/lib/other.so");
	struct model_stack a = {0}, b = {0};

	(void)state;
	sample_site(p, sample_node_in(p, 0, 1, sample_frame(p, "init", "", 0, 0)), 1, 1);
	sample_site(p, sample_node_in(p, 0, other, sample_frame(p, "init", "", 0, 0)), 1, 1);

	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &a);
	model_get_stack(m, 1, &b);
	assert_int_not_equal(model_get_frame(m, a.frames.at[0])->group,
			     model_get_frame(m, b.frames.at[0])->group);
	vec_free(&a.frames);
	vec_free(&b.frames);
	model_free(m);
	profile_free(p);
}

static struct profile *allocator_leaf(void)
{
	struct profile *p = sample_new();
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t main_node = sample_node(p, 0, "main", 1);
	uint32_t new_node = sample_node_in(
		p, main_node, libc, sample_frame(p, "operator new(unsigned long)", "", 0, 0));

	sample_site(p, sample_node_in(p, new_node, libc, sample_frame(p, "malloc", "", 0, 0)), 8,
		    1);
	sample_site(p, sample_node_in(p, 0, libc, sample_frame(p, "calloc", "", 0, 0)), 8, 1);
	return p;
}

static void given_allocator_entries_at_the_leaf_then_they_are_hidden(void **state)
{
	struct profile *p = allocator_leaf();

	(void)state;
	assert_string_equal(stack_text(p, &usual, 0), "main");
	assert_string_equal(stack_text(p, &all_frames, 0),
			    "malloc operator new(unsigned long) main");
	profile_free(p);
}

static void given_nothing_but_allocator_entries_then_the_last_one_stays(void **state)
{
	struct profile *p = allocator_leaf();

	(void)state;
	assert_string_equal(stack_text(p, &usual, 1), "calloc");
	profile_free(p);
}

static void given_no_symbols_then_a_frame_is_its_module_and_elf_address(void **state)
{
	struct profile *p = sample_new();
	uint32_t known = sample_node_in(p, 0, 1, 0);
	uint32_t unknown = sample_node_in(p, known, 0, 0);

	(void)state;
	sample_site(p, unknown, 8, 1);
	assert_string_equal(stack_text(p, &usual, 0), "+0x400020 /src/app+0x10");
	profile_free(p);
}

static void given_a_cut_stack_or_none_then_a_placeholder_says_so(void **state)
{
	struct profile *p = sample_new();
	uint32_t cut = sample_node_in(p, 0, 0, 0);

	(void)state;
	p->nodes.at[cut].cut = true;
	sample_site(p, sample_node(p, cut, "leaf", 1), 8, 1);
	sample_site(p, 0, 8, 1);
	assert_string_equal(stack_text(p, &usual, 0), "leaf [frames left out]");
	assert_string_equal(stack_text(p, &usual, 1), "[no stack]");
	profile_free(p);
}

static void given_a_stack_of_boundless_depth_then_it_is_cut_visibly(void **state)
{
	struct profile *p = sample_new();
	uint32_t frame = sample_frame(p, "deep", "/src/app.c", 1, 0);
	uint32_t node = 0;
	struct model_stack stack = {0};

	(void)state;
	for (unsigned i = 0; i < 2 * MODEL_STACK_MAX; i++)
		node = sample_node_in(p, node, 1, frame);
	sample_site(p, node, 8, 1);

	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &stack);
	assert_int_equal(stack.frames.count, MODEL_STACK_MAX);
	assert_true(model_get_frame(m, stack.frames.at[MODEL_STACK_MAX - 1])->placeholder);
	vec_free(&stack.frames);
	model_free(m);
	profile_free(p);
}

#define LONG_NAME "std::vector<int, std::allocator<int> >::push_back(int&&)"

static struct profile *one_long_name(void)
{
	struct profile *p = sample_new();

	sample_site(p, sample_node(p, 0, LONG_NAME, 7), 8, 1);
	return p;
}

static void names_are_shortened_unless_the_full_ones_are_wanted(void **state)
{
	const struct model_options full = {.full_names = true};
	struct profile *p = one_long_name();

	(void)state;
	assert_string_equal(stack_text(p, &usual, 0), "std::vector<int>::push_back(int&&)");
	assert_string_equal(stack_text(p, &full, 0), LONG_NAME);
	profile_free(p);
}

static void named_frames_are_as_the_program_says(void **state)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_python(p, 0, "std::vector<int, std::allocator<int> >", 3);
	uint32_t inner = sample_python(p, outer, "<lambda>", 4);
	struct model_stack stack = {0};

	(void)state;
	sample_site(p, sample_node(p, inner, "PyList_New", 7), 8, 1);
	assert_string_equal(stack_text(p, &usual, 0),
			    "PyList_New <lambda> std::vector<int, std::allocator<int> >");
	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &stack);
	const struct model_frame *f = model_get_frame(m, stack.frames.at[1]);
	assert_string_equal(f->module, "[python]");
	assert_string_equal(f->file, "/src/app.py");
	assert_int_equal(f->line, 4);
	assert_int_equal(f->named, PROFILE_NAMED_PYTHON);
	vec_free(&stack.frames);
	model_free(m);
	profile_free(p);
}

static void source_files_are_where_the_map_says(void **state)
{
	struct pathmap paths = {0};
	const struct model_options mapped = {.paths = &paths};
	struct profile *p = sample_tables();

	(void)state;
	assert_int_equal(pathmap_add(&paths, "/src=/home/me", NULL), 0);
	struct model *m = model_new(p, &mapped);
	pathmap_free(&paths);
	size_t seen = 0;
	for (uint32_t i = 0; i < model_get_frame_count(m); i++)
		if (*model_get_frame(m, i)->file) {
			assert_string_equal(model_get_frame(m, i)->file, "/home/me/app.c");
			assert_string_equal(model_get_frame(m, i)->module, "/src/app");
			seen++;
		}
	assert_true(seen > 3);
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_name_the_node_of_each_frame_and_hide_what_stacks_hide),
		cmocka_unit_test(a_stack_reads_from_the_allocating_function_outwards),
		cmocka_unit_test(inlined_frames_come_before_the_function_they_are_in),
		cmocka_unit_test(
			given_equal_locations_at_different_addresses_then_they_share_one_id),
		cmocka_unit_test(ids_are_in_the_order_of_the_names),
		cmocka_unit_test(functions_of_one_name_in_two_modules_stay_apart),
		cmocka_unit_test(given_allocator_entries_at_the_leaf_then_they_are_hidden),
		cmocka_unit_test(given_nothing_but_allocator_entries_then_the_last_one_stays),
		cmocka_unit_test(given_no_symbols_then_a_frame_is_its_module_and_elf_address),
		cmocka_unit_test(given_a_cut_stack_or_none_then_a_placeholder_says_so),
		cmocka_unit_test(given_a_stack_of_boundless_depth_then_it_is_cut_visibly),
		cmocka_unit_test(names_are_shortened_unless_the_full_ones_are_wanted),
		cmocka_unit_test(named_frames_are_as_the_program_says),
		cmocka_unit_test(source_files_are_where_the_map_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
