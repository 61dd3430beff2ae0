/* demangle_test.c -- linkage names for people, and the memo behind them.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "symbol/demangle.h"
#include "symbol/notes.h"
#include "symbol/symbol.h"

static void expect(const char *name, const char *wanted)
{
	char *text = symbol_demangle(name);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

static void cplusplus_names_get_their_parameters(void **state)
{
	(void)state;
	expect("_ZN4heap5Arena4growEm", "heap::Arena::grow(unsigned long)");
	expect("_ZN12_GLOBAL__N_14makeEi", "(anonymous namespace)::make(int)");
	expect("_ZNSt6vectorIiSaIiEE9push_backEOi",
	       "std::vector<int, std::allocator<int> >::push_back(int&&)");
	expect("_Znwm", "operator new(unsigned long)");
}

static void rust_legacy_names_lose_their_hash(void **state)
{
	(void)state;
	expect("_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h0123456789abcdefE",
	       "alloc::vec::Vec<T,A>::push");
}

static void rust_v0_names_lose_their_crate_hashes(void **state)
{
	(void)state;
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect("_RNvMNtCs1234_7mycrate3barNtB2_3Baz3new", "<mycrate::bar::Baz>::new");
}

static void d_names_get_their_parameters(void **state)
{
	(void)state;
	expect("_D8demangle11__T4testTaZv", "demangle.test!(char)");
	expect("_D4heap5Arena4growMFmZv", "heap.Arena.grow(ulong)");
	expect("_Dmain", "D main");
}

/* Each argument is twice as long as the one before it, and takes eleven letters. */
static void a_name_that_stands_for_endless_text_is_not_demangled(void **state)
{
	(void)state;
	expect("_Z1fI1aIiiES0_IS1_S1_EEvv", "void f<a<int, int>, a<a<int, int>, a<int, int> > >()");
	assert_null(symbol_demangle("_Z1fI1aIiiES0_IS1_S1_ES0_IS2_S2_ES0_IS3_S3_ES0_IS4_S4_E"
				    "S0_IS5_S5_ES0_IS6_S6_ES0_IS7_S7_ES0_IS8_S8_ES0_IS9_S9_E"
				    "S0_ISA_SA_ES0_ISB_SB_ES0_ISC_SC_ES0_ISD_SD_ES0_ISE_SE_E"
				    "S0_ISF_SF_ES0_ISG_SG_ES0_ISH_SH_ES0_ISI_SI_ES0_ISJ_SJ_E"
				    "S0_ISK_SK_ES0_ISL_SL_ES0_ISM_SM_ES0_ISN_SN_ES0_ISO_SO_EEvv"));
	expect("_D1fFHiiHQeQgZv", "f(int[int], int[int][int[int]])");
	assert_null(
		symbol_demangle("_D1fFHiiHQeQgHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQ"
				"gQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiHQgQiZv"));
	expect("_D4core4stdc5errnoQgFZi", "core.stdc.errno.errno()");
}

static void plain_names_are_not_mangled(void **state)
{
	static const char *const names[] = {"main",  "", "_Z", "_R", "_ZN", "malloc@@GLIBC_2.2.5",
					    "_start"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(symbol_demangle(names[i]));
}

static void a_name_is_worked_out_once(void **state)
{
	static const char raw[] = "_ZN4heap5Arena4growEm";
	struct notes names = {0};
	bool mangled;

	(void)state;
	const char *first = demangle_find(&names, raw, &mangled);
	assert_true(mangled);
	assert_string_equal(first, "heap::Arena::grow(unsigned long)");
	assert_ptr_equal(demangle_find(&names, raw, &mangled), first);
	assert_true(mangled);
	notes_free(&names);
}

static void a_symbol_version_is_left_out(void **state)
{
	struct notes names = {0};
	bool mangled = true;

	(void)state;
	assert_string_equal(demangle_find(&names, "memcpy@@GLIBC_2.14", &mangled), "memcpy");
	assert_false(mangled);
	assert_string_equal(demangle_find(&names, "@odd", &mangled), "@odd");
	notes_free(&names);
}

static void the_memo_keeps_ten_thousand_keys_apart(void **state)
{
	enum { COUNT = 10000 };
	char *keys = mem_new(COUNT, 1);
	struct notes m = {0};

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		void **place = notes_get(&m, keys + i);

		assert_null(*place);
		*place = mem_format("%zu", i);
	}
	assert_int_equal(m.values.count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(strtoul(*notes_get(&m, keys + i), NULL, 10), i);
	notes_free(&m);
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cplusplus_names_get_their_parameters),
		cmocka_unit_test(rust_legacy_names_lose_their_hash),
		cmocka_unit_test(rust_v0_names_lose_their_crate_hashes),
		cmocka_unit_test(d_names_get_their_parameters),
		cmocka_unit_test(a_name_that_stands_for_endless_text_is_not_demangled),
		cmocka_unit_test(plain_names_are_not_mangled),
		cmocka_unit_test(a_name_is_worked_out_once),
		cmocka_unit_test(a_symbol_version_is_left_out),
		cmocka_unit_test(the_memo_keeps_ten_thousand_keys_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
