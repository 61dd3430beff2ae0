/* plumbing_test.c -- what is the inside of the C++ library, and what a program calls of it. Runs:
 * as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/plumbing.h"
#include "model/suppress.h"
#include "sample.h"

#define assert_inside(name) assert_int_equal(plumbing_judge(name), PLUMBING_INSIDE)
#define assert_called(name) assert_int_equal(plumbing_judge(name), PLUMBING_CALLED)
#define assert_none(name)   assert_int_equal(plumbing_judge(name), PLUMBING_NONE)

static void what_has_a_reserved_name_is_inside(void **state)
{
	(void)state;
	assert_inside("std::_Vector_base<int>::_M_allocate(unsigned long)");
	assert_inside(
		"int* std::vector<int>::_M_allocate_and_copy<int*>(unsigned long, int*, int*)");
	assert_inside("std::__detail::_Map_base<int, std::pair<int const, int>, "
		      "true>::operator[](int const&)");
	assert_inside("void std::string::_M_construct<char*>(char*, char*)");
	assert_inside("std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)");
}

static void the_librarys_allocators_are_inside(void **state)
{
	(void)state;
	assert_inside("std::allocator<int>::allocate(unsigned long)");
	assert_inside("std::allocator_traits<std::allocator<int>>::allocate(std::allocator<int>&, "
		      "unsigned long)");
	assert_inside("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)");
	assert_inside("std::shared_ptr<int>::shared_ptr<std::allocator<void>>("
		      "std::_Sp_alloc_shared_tag<std::allocator<void>>)");
}

static void what_a_program_calls_is_told_from_it(void **state)
{
	(void)state;
	assert_called("alloc::vec::Vec<T,A>::push");
	assert_called(
		"<alloc::vec::Vec<T> as core::iter::traits::collect::FromIterator<T>>::from_iter");
	assert_called("std::vector<int>::push_back(int&&)");
	assert_called("std::vector<std::__detail::_Hash_node<int, true>>::reserve(unsigned long)");
	assert_called("std::string::operator=(std::string const&)");
	assert_called("std::__cxx11::basic_string<char>::operator+=(char const*)");
	assert_called("std::shared_ptr<int> std::make_shared<int>()");
	assert_called("bool std::operator< <int>(std::_Bit_iterator const&, int)");
}

static void functions_of_others_are_neither(void **state)
{
	(void)state;
	assert_none("");
	assert_none("_M_allocate");
	assert_none("app::_M_allocate(unsigned long)");
	assert_none("std::_Foo app::make(std::_Bar)");
	assert_none("(anonymous namespace)::_Make(int)");
	/* Rust's way into the program: */
	assert_none("std::sys::backtrace::__rust_begin_short_backtrace");
	assert_none("app::<<<((({{{");
}

/* new < _M_create < pair::pair < _Hashtable < unordered_map::operator[] < fill < main, and the same
 * without fill and main. */
static struct profile *sample_of_a_map(void)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1), table = 0, outer[2] = {0};

	outer[0] = sample_node(p, root, "fill", 2);
	for (unsigned i = 0; i < 2; i++) {
		table = sample_node(p, outer[i], "std::unordered_map<int, int>::operator[](int&&)",
				    3);
		table = sample_node(p, table, "std::_Hashtable<int>::_M_new(int)", 4);
		table = sample_node(p, table, "std::pair<int, int>::pair(int)", 5);
		table = sample_node(p, table, "std::string::_M_create(int)", 6);
		table = sample_node(p, table, "operator new(unsigned long)", 7);
		sample_site(p, table, 8, 1);
	}
	return p;
}

static void of_the_functions_of_a_library_that_end_a_stack_the_outermost_is_left(void **state)
{
	static const struct model_options options[2] = {{0}, {.all_frames = true}};
	static const size_t counts[2][2] = {{3, 1}, {7, 5}};
	struct profile *p = sample_of_a_map();
	struct model_stack stack = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct model *m = model_new(p, &options[i]);

		for (unsigned site = 0; site < 2; site++) {
			model_get_stack(m, site, &stack);
			assert_int_equal(stack.frames.count, counts[i][site]);
			assert_string_equal(model_get_frame(m, stack.frames.at[0])->function,
					    i ? "operator new(unsigned long)"
					      : "std::unordered_map<int, int>::operator[](int&&)");
		}
		model_free(m);
	}
	vec_free(&stack.frames);
	profile_free(p);
}

static void rules_of_suppression_see_what_is_left_out(void **state)
{
	static const struct model_options usual = {0};
	struct profile *p = sample_of_a_map();
	struct model *m = model_new(p, &usual);
	struct suppress_list rules = {0};
	uint8_t verdicts[2] = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(suppress_parse(&rules, "leak:std::string::_M_create", "x", &e), 0);
	uint32_t *named = suppress_judge(&rules, m, verdicts);
	assert_int_equal(named[0], 0);
	assert_int_equal(named[1], 0);
	free(named);
	suppress_free(&rules);
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_a_reserved_name_is_inside),
		cmocka_unit_test(the_librarys_allocators_are_inside),
		cmocka_unit_test(what_a_program_calls_is_told_from_it),
		cmocka_unit_test(functions_of_others_are_neither),
		cmocka_unit_test(
			of_the_functions_of_a_library_that_end_a_stack_the_outermost_is_left),
		cmocka_unit_test(rules_of_suppression_see_what_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
