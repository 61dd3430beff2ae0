/* allocator_test.c -- which functions count as the allocator's own. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/allocator.h"

static void every_form_of_operator_new_is_an_entry_wherever_it_lives(void **state)
{
	(void)state;
	assert_true(allocator_is_entry("operator new(unsigned long)", "/usr/lib/libstdc++.so.6"));
	assert_true(allocator_is_entry("operator new[](unsigned long, std::align_val_t)", "/app"));
	assert_false(allocator_is_entry("operator newish(int)", "/app"));
	assert_false(allocator_is_entry("pool::operator new(unsigned long)", "/app"));
}

static void malloc_and_its_like_are_entries_in_the_c_library(void **state)
{
	static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";

	(void)state;
	assert_true(allocator_is_entry("malloc", libc));
	assert_true(allocator_is_entry("__libc_calloc", libc));
	assert_true(allocator_is_entry("__strdup", libc));
	assert_true(allocator_is_entry("__GI___strdup", libc));
	assert_true(allocator_is_entry("je_malloc", "/opt/libjemalloc.so.2"));
	assert_false(allocator_is_entry("fopen", libc));
}

static void a_malloc_of_the_program_itself_is_shown(void **state)
{
	(void)state;
	assert_false(allocator_is_entry("malloc", "/home/me/app"));
	assert_false(allocator_is_entry("strdup", "/home/me/libcustom.so"));
}

static void all_of_middens_own_library_is_an_entry(void **state)
{
	(void)state;
	assert_true(allocator_is_entry("anything", "/usr/lib/midden/libmidden.so"));
	assert_true(allocator_is_entry("", "libmidden.so"));
}

static void rusts_way_to_the_allocator_is_an_entry(void **state)
{
	(void)state;
	assert_true(allocator_is_entry("alloc::alloc::alloc", "/app"));
	assert_true(allocator_is_entry("<alloc::alloc::Global>::alloc_impl", "/app"));
	assert_true(allocator_is_entry("<alloc::alloc::Global as core::alloc::Allocator>::allocate",
				       "/app"));
	assert_true(allocator_is_entry("alloc::raw_vec::RawVec<T,A>::with_capacity_in", "/app"));
	assert_true(allocator_is_entry("alloc::boxed::box_new_uninit", "/app"));
	assert_true(allocator_is_entry("__rust_alloc", "/app"));
	assert_true(allocator_is_entry("__rdl_alloc_zeroed", "/app"));
	assert_false(allocator_is_entry("alloc::vec::Vec<T>::with_capacity", "/app"));
	assert_false(allocator_is_entry("alloc::fmt::format", "/app"));
	assert_false(
		allocator_is_entry("std::sys::backtrace::__rust_begin_short_backtrace", "/app"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_operator_new_is_an_entry_wherever_it_lives),
		cmocka_unit_test(malloc_and_its_like_are_entries_in_the_c_library),
		cmocka_unit_test(a_malloc_of_the_program_itself_is_shown),
		cmocka_unit_test(all_of_middens_own_library_is_an_entry),
		cmocka_unit_test(rusts_way_to_the_allocator_is_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
