/* shorten_test.c -- C++ names as their authors wrote them.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "symbol/demangle.h"
#include "symbol/shorten.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static void expect(const char *full, const char *wanted)
{
	char *text = shorten_name(full);

	if (!text)
		fail_msg("\"%s\" was left as it is", full);
	assert_string_equal(text, wanted);
	assert_null(shorten_name(text)); /* what is short stays as it is */
	free(text);
}

static void expect_unchanged(const char *full)
{
	char *text = shorten_name(full);

	if (text)
		fail_msg("\"%s\" became \"%s\"", full, text);
}

/* ---- default arguments ----------------------------------------------------------------------- */

static void sequences_lose_their_allocator(void **state)
{
	(void)state;
	expect("std::vector<int, std::allocator<int> >::push_back(int&&)",
	       "std::vector<int>::push_back(int&&)");
	expect("std::vector<int, std::allocator<int>>::push_back(int&&)",
	       "std::vector<int>::push_back(int&&)");
	expect("std::deque<a::B*, std::allocator<a::B*> >", "std::deque<a::B*>");
	expect("std::__cxx11::list<long, std::allocator<long> >", "std::list<long>");
	expect("std::forward_list<X, std::allocator<X> >", "std::forward_list<X>");
	expect("std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
	       "std::_Vector_base<int>::_M_allocate(unsigned long)");
}

static void sets_and_maps_lose_order_and_allocator(void **state)
{
	(void)state;
	expect("std::set<int, std::less<int>, std::allocator<int> >", "std::set<int>");
	expect("std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > >",
	       "std::map<int, long>");
	expect("std::map<char const*, X, std::less<char const*>, "
	       "std::allocator<std::pair<char const* const, X> > >",
	       "std::map<char const*, X>");
	expect("std::unordered_set<int, std::hash<int>, std::equal_to<int>, std::allocator<int> >",
	       "std::unordered_set<int>");
	expect("std::unordered_map<" STRING ", int, std::hash<" STRING " >, std::equal_to<" STRING
	       " >, std::allocator<std::pair<" STRING " const, int> > >::operator[](" STRING "&&)",
	       "std::unordered_map<std::string, int>::operator[](std::string&&)");
	expect("std::_Rb_tree<int, std::pair<int const, long>, std::_Select1st<std::pair<int "
	       "const, "
	       "long> >, std::less<int>, std::allocator<std::pair<int const, long> > >::erase()",
	       "std::_Rb_tree<int, std::pair<int const, long>, std::_Select1st<std::pair<int "
	       "const, long>>>::erase()");
}

/* As compilers write types into debug information. */
static void const_may_stand_before_the_type(void **state)
{
	(void)state;
	expect("std::map<int, long, std::less<int>, std::allocator<std::pair<const int, long> > >",
	       "std::map<int, long>");
}

static void adapters_and_pointers_lose_theirs(void **state)
{
	(void)state;
	expect("std::stack<int, std::deque<int, std::allocator<int> > >", "std::stack<int>");
	expect("std::priority_queue<int, std::vector<int, std::allocator<int> >, std::less<int> >",
	       "std::priority_queue<int>");
	expect("std::unique_ptr<a::B, std::default_delete<a::B> >", "std::unique_ptr<a::B>");
	expect("std::unique_ptr<char [], std::default_delete<char []> >",
	       "std::unique_ptr<char []>");
	expect("std::span<int, 18446744073709551615ul>::size() const",
	       "std::span<int>::size() const");
	expect("std::__shared_ptr<X, (__gnu_cxx::_Lock_policy)2>::get() const",
	       "std::__shared_ptr<X>::get() const");
}

static void arguments_that_are_not_the_default_stay(void **state)
{
	(void)state;
	expect_unchanged("std::vector<int, my::allocator<int>>");
	expect_unchanged("std::vector<int, std::allocator<long>>");
	expect_unchanged("std::vector<std::allocator<int>>");
	expect("std::set<int, std::greater<int>, std::allocator<int> >",
	       "std::set<int, std::greater<int>>");
	expect("std::map<int, long, std::less<void>, std::allocator<std::pair<int const, long> > >",
	       "std::map<int, long, std::less<void>>");
	expect_unchanged("std::map<int, long, std::less<int>, my::pool<long>>");
	expect_unchanged("std::unique_ptr<FILE, int (*)(FILE*)>");
	expect_unchanged("my::vector<int, std::allocator<int>>");
	expect_unchanged("std::experimental::vector<int, std::allocator<int>>");
}

static void templates_inside_templates_are_shortened_first(void **state)
{
	(void)state;
	expect("std::vector<std::vector<int, std::allocator<int> >, "
	       "std::allocator<std::vector<int, std::allocator<int> > > >",
	       "std::vector<std::vector<int>>");
	expect("my::box<std::vector<" STRING ", std::allocator<" STRING " > > >::fill(" STRING
	       " const&)",
	       "my::box<std::vector<std::string>>::fill(std::string const&)");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void strings_and_streams_have_their_usual_names(void **state)
{
	(void)state;
	expect(STRING "::~basic_string()", "std::string::~basic_string()");
	expect("std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >",
	       "std::wstring");
	expect("std::basic_string_view<char, std::char_traits<char> >", "std::string_view");
	expect("std::basic_ostream<char, std::char_traits<char> >& f()", "std::ostream& f()");
	expect("std::__cxx11::basic_ostringstream<char, std::char_traits<char>, "
	       "std::allocator<char> >::str() const",
	       "std::ostringstream::str() const");
	expect("std::__cxx11::basic_regex<char, std::__cxx11::regex_traits<char> >", "std::regex");
	expect("std::chrono::duration<long, std::ratio<1l, 1000000000l> >",
	       "std::chrono::nanoseconds");
	expect_unchanged("std::basic_string<my::letter>");
}

static void iterators_are_named_after_their_container(void **state)
{
	(void)state;
	expect("__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >",
	       "std::vector<int>::iterator");
	expect("__gnu_cxx::__normal_iterator<int const*, std::vector<int, std::allocator<int> > >",
	       "std::vector<int>::const_iterator");
	expect("__gnu_cxx::__normal_iterator<char const*, " STRING " >",
	       "std::string::const_iterator");
	expect_unchanged("__gnu_cxx::__normal_iterator<char*, void>");
	expect_unchanged("__gnu_cxx::__normal_iterator<long*, std::vector<int>>");
}

static void inline_namespaces_are_left_out(void **state)
{
	(void)state;
	expect("std::__1::vector<int, std::__1::allocator<int> >::size()",
	       "std::vector<int>::size()");
	expect("std::__1::basic_string<char, std::__1::char_traits<char>, "
	       "std::__1::allocator<char> >",
	       "std::string");
	expect("std::__ndk1::thread::join()", "std::thread::join()");
	expect("std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now()");
	expect("std::filesystem::__cxx11::path::path()", "std::filesystem::path::path()");
	expect("fmt::v9::detail::write(int)", "fmt::detail::write(int)");
	expect("absl::lts_20220623::Mutex::Lock()", "absl::Mutex::Lock()");
	expect_unchanged("mine::__1::f()");
	expect_unchanged("mine::v9::f()");
	expect_unchanged("std::__detail::f()");
	expect_unchanged("std::__1()");
}

static void abi_tags_are_left_out(void **state)
{
	(void)state;
	expect("std::__cxx11::to_string[abi:cxx11](int)", "std::to_string(int)");
	expect("a::B::f[abi:v1][abi:v2]() const", "a::B::f() const");
	expect_unchanged("a::f(int [3])");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void operators_are_not_taken_for_brackets(void **state)
{
	(void)state;
	expect_unchanged("a::B::operator<(a::B const&) const");
	expect_unchanged("a::B::operator<<(int)");
	expect_unchanged("a::B::operator->() const");
	expect_unchanged("a::B::operator()(int) const");
	expect_unchanged("a::B::operator<=>(a::B const&) const");
	expect_unchanged("a::B::operator,(int)");
	expect("bool a::operator> <int>(std::vector<int, std::allocator<int> > const&)",
	       "bool a::operator> <int>(std::vector<int> const&)");
	expect("int a::operator<< <int>(std::vector<int, std::allocator<int> > const&)",
	       "int a::operator<< <int>(std::vector<int> const&)");
	expect("a::B::operator std::vector<int, std::allocator<int> >()",
	       "a::B::operator std::vector<int>()");
	expect("a::B::operator new[](unsigned long, std::vector<int, std::allocator<int> >&)",
	       "a::B::operator new[](unsigned long, std::vector<int>&)");
}

static void comparisons_in_arguments_are_not_taken_for_brackets(void **state)
{
	(void)state;
	expect("std::enable_if<((sizeof (int))>(4)), std::vector<int, std::allocator<int> > "
	       ">::type "
	       "a::f<int>()",
	       "std::enable_if<((sizeof (int))>(4)), std::vector<int>>::type a::f<int>()");
	expect("std::enable_if<((sizeof (int))<(4)), std::vector<int, std::allocator<int> > "
	       ">::type "
	       "a::f<int>()",
	       "std::enable_if<((sizeof (int))<(4)), std::vector<int>>::type a::f<int>()");
	expect("a::f(std::vector<int, std::allocator<int> >)::{lambda(int)#1}::operator()(int) "
	       "const",
	       "a::f(std::vector<int>)::{lambda(int)#1}::operator()(int) const");
	expect("std::function<void (std::vector<int, std::allocator<int> >)>::operator()() const",
	       "std::function<void (std::vector<int>)>::operator()() const");
	expect("auto (anonymous namespace)::f(int)->std::vector<int, std::allocator<int> >",
	       "auto (anonymous namespace)::f(int)->std::vector<int>");
}

static void names_of_other_languages_stay(void **state)
{
	(void)state;
	expect_unchanged("<alloc::vec::Vec<u8> as core::clone::Clone>::clone");
	expect_unchanged("<alloc::raw_vec::RawVec<(std::ffi::OsString, u8)>>::grow_one");
	expect_unchanged("std::rt::lang_start::<()>::{closure#0}");
	expect_unchanged("<&[u8] as <alloc::ffi::CString>::new::Spec>::new");
	expect_unchanged("heap.Arena!(char, 3).grow(ulong)");
	expect_unchanged("main");
	expect_unchanged("");
}

static void what_does_not_add_up_stays(void **state)
{
	static const char *const odd[] = {
		"std::vector<int, std::allocator<int> ",
		"std::vector<int",
		"std::__1::a(",
		"::",
		"<",
		"std::__1::a<b(c>)",
		"std::__1::[abi:",
		"a::b[abi:",
		"std::__cxx11::{",
		"::<::<::<",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		expect_unchanged(odd[i]);
}

static char *repeat(const char *text, size_t times, const char *start)
{
	char *whole = mem_new(strlen(start) + strlen(text) * times + 1, 1);

	strcpy(whole, start);
	for (size_t i = 0; i < times; i++)
		strcat(whole + i, text);
	return whole;
}

static void names_without_end_come_back_as_they_are(void **state)
{
	static const char *const parts[] = {"<", "a<", "(", "{", "std::vector<", "std::__1::"};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *name = repeat(parts[i], 20000, "std::__1::");

		expect_unchanged(name);
		free(name);
	}
}

/* The two halves fit together: what the demangler prints is what is understood here. */
/* Nothing is left of it. */
static void a_name_that_is_all_abi_tag_stays(void **state)
{
	(void)state;
	expect_unchanged("[abi:::]");
}

static void mangled_names_come_out_short(void **state)
{
	static const struct {
		const char *mangled, *wanted;
	} names[] = {
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int>::push_back(int&&)"},
		{"_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES5_St4lessIS5_"
		 "ESaISt4pairIKS5_S5_EEEixERS9_",
		 "std::map<std::string, std::string>::operator[](std::string const&)"},
		{"_ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6appendEPKc",
		 "std::string::append(char const*)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *full = demangle_name(names[i].mangled);

		assert_non_null(full);
		expect(full, names[i].wanted);
		free(full);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_lose_their_allocator),
		cmocka_unit_test(sets_and_maps_lose_order_and_allocator),
		cmocka_unit_test(const_may_stand_before_the_type),
		cmocka_unit_test(adapters_and_pointers_lose_theirs),
		cmocka_unit_test(arguments_that_are_not_the_default_stay),
		cmocka_unit_test(templates_inside_templates_are_shortened_first),
		cmocka_unit_test(strings_and_streams_have_their_usual_names),
		cmocka_unit_test(iterators_are_named_after_their_container),
		cmocka_unit_test(inline_namespaces_are_left_out),
		cmocka_unit_test(abi_tags_are_left_out),
		cmocka_unit_test(operators_are_not_taken_for_brackets),
		cmocka_unit_test(comparisons_in_arguments_are_not_taken_for_brackets),
		cmocka_unit_test(names_of_other_languages_stay),
		cmocka_unit_test(what_does_not_add_up_stays),
		cmocka_unit_test(names_without_end_come_back_as_they_are),
		cmocka_unit_test(a_name_that_is_all_abi_tag_stays),
		cmocka_unit_test(mangled_names_come_out_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
