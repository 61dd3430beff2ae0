/* resolve_test.c -- the addresses of this very program get their names. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "addresses.h"
#include "model/resolve.h"

static const struct resolve_options usual = {0};

enum { FIRST_LINE = __LINE__ }; /* just above first_function */

/* Long enough that an address in the middle is inside; not to be merged or inlined. Its first
 * instruction has a line: for a loop that is unrolled clang 11 names line 0. */
__attribute__((noinline)) static int first_function(volatile int *x)
{
	*x = 1;
	for (int i = 0; i < 10; i++)
		*x += i * *x;
	return *x;
}

__attribute__((noinline)) static int second_function(volatile int *x)
{
	for (int i = 0; i < 10; i++)
		*x -= i + *x;
	return *x;
}

static void nodes_get_the_function_their_call_is_in(void **state)
{
	struct profile *p = profile_new();
	struct error e = {0};
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t first =
		addresses_add_node(p, module, addresses_address_of(first_function) + 4, false);
	uint32_t second =
		addresses_add_node(p, module, addresses_address_of(second_function) + 4, false);

	(void)state;
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	assert_true(p->resolved);
	assert_string_equal(addresses_function_at(p, first), "first_function");
	assert_string_equal(addresses_function_at(p, second), "second_function");
	assert_int_equal(profile_check(p, &e), 0);
	profile_free(p);
}

static void source_lines_are_kept(void **state)
{
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t node = addresses_add_node(p, module, addresses_address_of(first_function), true);

	(void)state;
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	const struct profile_frame *f = &p->frames.at[p->nodes.at[node].frames];
	assert_non_null(strstr(profile_string(p, f->file), "resolve_test.c"));
	assert_in_range(f->line, FIRST_LINE, FIRST_LINE + 8);
	profile_free(p);
}

static void a_return_address_belongs_to_the_call_before_it_an_exact_one_to_itself(void **state)
{
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t exact = addresses_add_node(p, module, addresses_address_of(first_function), true);
	uint32_t after = addresses_add_node(p, module, addresses_address_of(first_function), false);

	(void)state;
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	assert_string_equal(addresses_function_at(p, exact), "first_function");
	assert_string_not_equal(addresses_function_at(p, after), "first_function");
	profile_free(p);
}

static void nodes_at_one_address_share_frames_even_when_the_file_was_loaded_twice(void **state)
{
	struct profile *p = profile_new();
	uint64_t pc = addresses_address_of(first_function) + 4, shift = 0x10000000;
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t again =
		addresses_add_module(p, addresses_own_path(), addresses_own_bias() + shift);
	uint32_t a = addresses_add_node(p, module, pc, false);
	uint32_t b = addresses_add_node(p, module, pc, false);
	uint32_t c = addresses_add_node(p, again, pc + shift, false);

	(void)state;
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	assert_int_not_equal(p->nodes.at[a].frames, 0);
	assert_int_equal(p->nodes.at[a].frames, p->nodes.at[b].frames);
	assert_int_equal(p->nodes.at[a].frames, p->nodes.at[c].frames);
	profile_free(p);
}

static void given_an_empty_path_then_the_executable_is_meant(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	p->run.executable = profile_add_string(p, addresses_own_path());
	uint32_t node = addresses_add_node(p, addresses_add_module(p, "", addresses_own_bias()),
					   addresses_address_of(first_function) + 4, false);
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	assert_string_equal(addresses_function_at(p, node), "first_function");
	profile_free(p);
}

static void given_a_missing_file_then_its_nodes_stay_and_the_others_are_resolved(void **state)
{
	struct profile *p = profile_new();
	uint32_t gone = addresses_add_node(p, addresses_add_module(p, "/nowhere/libgone.so", 0),
					   0x1000, false);
	uint32_t here = addresses_add_node(
		p, addresses_add_module(p, addresses_own_path(), addresses_own_bias()),
		addresses_address_of(first_function) + 4, false);

	(void)state;
	assert_int_equal(resolve_profile(p, &usual, NULL), 1);
	assert_true(p->resolved);
	assert_int_equal(p->nodes.at[gone].frames, 0);
	assert_string_equal(addresses_function_at(p, here), "first_function");
	profile_free(p);
}

static void given_a_replaced_file_then_its_nodes_stay(void **state)
{
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t node =
		addresses_add_node(p, module, addresses_address_of(first_function) + 4, false);

	(void)state;
	p->modules.at[module].build_id_bytes = 20;
	memset(p->modules.at[module].build_id, 0xab, 20);
	assert_int_equal(resolve_profile(p, &usual, NULL), 1);
	assert_int_equal(p->nodes.at[node].frames, 0);
	profile_free(p);
}

static void nodes_without_module_or_with_frames_are_left_alone(void **state)
{
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint32_t jit = addresses_add_node(p, 0, 0x1234, false);
	uint32_t known =
		addresses_add_node(p, module, addresses_address_of(first_function) + 4, false);

	(void)state;
	*vec_push(&p->frames) = (struct profile_frame){.function = profile_add_string(p, "mine")};
	p->nodes.at[known].frames = 1;
	assert_int_equal(resolve_profile(p, &usual, NULL), 0);
	assert_int_equal(p->nodes.at[jit].frames, 0);
	assert_string_equal(addresses_function_at(p, known), "mine");
	assert_int_equal(p->frames.count, 2);
	profile_free(p);
}

int main(void)
{
	volatile int x = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_get_the_function_their_call_is_in),
		cmocka_unit_test(source_lines_are_kept),
		cmocka_unit_test(
			a_return_address_belongs_to_the_call_before_it_an_exact_one_to_itself),
		cmocka_unit_test(
			nodes_at_one_address_share_frames_even_when_the_file_was_loaded_twice),
		cmocka_unit_test(given_an_empty_path_then_the_executable_is_meant),
		cmocka_unit_test(
			given_a_missing_file_then_its_nodes_stay_and_the_others_are_resolved),
		cmocka_unit_test(given_a_replaced_file_then_its_nodes_stay),
		cmocka_unit_test(nodes_without_module_or_with_frames_are_left_alone),
	};

	(void)first_function(&x);
	(void)second_function(&x);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
