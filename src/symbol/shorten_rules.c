/* shorten_rules.c -- what shorten.c knows about the names of the C++ library.
 * Runs: offline, any thread; pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/shorten_rules.h"

#include <ctype.h>
#include <string.h>

#define DEFAULTS_MOST 4u

/* A template whose arguments after the first `needed` have defaults: %0 and %1 stand for the first
 * two arguments, %c for the first one made const. */
struct template_rule {
	struct piece name;
	size_t needed;
	const char *defaults[DEFAULTS_MOST];
};

#define TEXT(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}
#define PAIR "std::allocator<std::pair<%c, %1>>"

static const struct template_rule templates[] = {
	{TEXT("std::vector"), 1, {"std::allocator<%0>"}},
	{TEXT("std::deque"), 1, {"std::allocator<%0>"}},
	{TEXT("std::list"), 1, {"std::allocator<%0>"}},
	{TEXT("std::forward_list"), 1, {"std::allocator<%0>"}},
	{TEXT("std::set"), 1, {"std::less<%0>", "std::allocator<%0>"}},
	{TEXT("std::multiset"), 1, {"std::less<%0>", "std::allocator<%0>"}},
	{TEXT("std::map"), 2, {"std::less<%0>", PAIR}},
	{TEXT("std::multimap"), 2, {"std::less<%0>", PAIR}},
	{TEXT("std::unordered_set"),
	 1,
	 {"std::hash<%0>", "std::equal_to<%0>", "std::allocator<%0>"}},
	{TEXT("std::unordered_multiset"),
	 1,
	 {"std::hash<%0>", "std::equal_to<%0>", "std::allocator<%0>"}},
	{TEXT("std::unordered_map"), 2, {"std::hash<%0>", "std::equal_to<%0>", PAIR}},
	{TEXT("std::unordered_multimap"), 2, {"std::hash<%0>", "std::equal_to<%0>", PAIR}},
	{TEXT("std::stack"), 1, {"std::deque<%0>"}},
	{TEXT("std::queue"), 1, {"std::deque<%0>"}},
	{TEXT("std::priority_queue"), 1, {"std::vector<%0>", "std::less<%0>"}},
	{TEXT("std::unique_ptr"), 1, {"std::default_delete<%0>"}},
	{TEXT("std::basic_string"), 1, {"std::char_traits<%0>", "std::allocator<%0>"}},
	{TEXT("std::basic_string_view"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_ios"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_streambuf"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_istream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_ostream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_iostream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_filebuf"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_ifstream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_ofstream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_fstream"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::basic_stringbuf"), 1, {"std::char_traits<%0>", "std::allocator<%0>"}},
	{TEXT("std::basic_istringstream"), 1, {"std::char_traits<%0>", "std::allocator<%0>"}},
	{TEXT("std::basic_ostringstream"), 1, {"std::char_traits<%0>", "std::allocator<%0>"}},
	{TEXT("std::basic_stringstream"), 1, {"std::char_traits<%0>", "std::allocator<%0>"}},
	{TEXT("std::istreambuf_iterator"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::ostreambuf_iterator"), 1, {"std::char_traits<%0>"}},
	{TEXT("std::istream_iterator"), 1, {"char", "std::char_traits<char>", "long"}},
	{TEXT("std::ostream_iterator"), 1, {"char", "std::char_traits<char>"}},
	{TEXT("std::basic_regex"), 1, {"std::regex_traits<%0>"}},
	{TEXT("std::match_results"), 1, {"std::allocator<std::sub_match<%0>>"}},
	/* What is on stacks in place of the containers: their insides. */
	{TEXT("std::_Vector_base"), 1, {"std::allocator<%0>"}},
	{TEXT("std::_Deque_base"), 1, {"std::allocator<%0>"}},
	{TEXT("std::_List_base"), 1, {"std::allocator<%0>"}},
	{TEXT("std::_Fwd_list_base"), 1, {"std::allocator<%0>"}},
	{TEXT("std::_Rb_tree"), 3, {"std::less<%0>", "std::allocator<%1>"}},
	{TEXT("std::__shared_ptr"), 1, {"(__gnu_cxx::_Lock_policy)2"}},
	{TEXT("std::__weak_ptr"), 1, {"(__gnu_cxx::_Lock_policy)2"}},
	{TEXT("std::_Sp_counted_ptr"), 1, {"(__gnu_cxx::_Lock_policy)2"}},
	{TEXT("std::_Sp_counted_ptr_inplace"), 2, {"(__gnu_cxx::_Lock_policy)2"}},
	{TEXT("std::span"), 1, {"18446744073709551615ul"}},
};

/* What is written in place of the left side. */
struct alias {
	struct piece whole;
	const char *usual;
};

static const struct alias aliases[] = {
	{TEXT("std::basic_string<char>"), "std::string"},
	{TEXT("std::basic_string<wchar_t>"), "std::wstring"},
	{TEXT("std::basic_string<char8_t>"), "std::u8string"},
	{TEXT("std::basic_string<char16_t>"), "std::u16string"},
	{TEXT("std::basic_string<char32_t>"), "std::u32string"},
	{TEXT("std::basic_string_view<char>"), "std::string_view"},
	{TEXT("std::basic_string_view<wchar_t>"), "std::wstring_view"},
	{TEXT("std::basic_string_view<char8_t>"), "std::u8string_view"},
	{TEXT("std::basic_string_view<char16_t>"), "std::u16string_view"},
	{TEXT("std::basic_string_view<char32_t>"), "std::u32string_view"},
	{TEXT("std::basic_ios<char>"), "std::ios"},
	{TEXT("std::basic_ios<wchar_t>"), "std::wios"},
	{TEXT("std::basic_streambuf<char>"), "std::streambuf"},
	{TEXT("std::basic_streambuf<wchar_t>"), "std::wstreambuf"},
	{TEXT("std::basic_istream<char>"), "std::istream"},
	{TEXT("std::basic_istream<wchar_t>"), "std::wistream"},
	{TEXT("std::basic_ostream<char>"), "std::ostream"},
	{TEXT("std::basic_ostream<wchar_t>"), "std::wostream"},
	{TEXT("std::basic_iostream<char>"), "std::iostream"},
	{TEXT("std::basic_iostream<wchar_t>"), "std::wiostream"},
	{TEXT("std::basic_filebuf<char>"), "std::filebuf"},
	{TEXT("std::basic_filebuf<wchar_t>"), "std::wfilebuf"},
	{TEXT("std::basic_ifstream<char>"), "std::ifstream"},
	{TEXT("std::basic_ifstream<wchar_t>"), "std::wifstream"},
	{TEXT("std::basic_ofstream<char>"), "std::ofstream"},
	{TEXT("std::basic_ofstream<wchar_t>"), "std::wofstream"},
	{TEXT("std::basic_fstream<char>"), "std::fstream"},
	{TEXT("std::basic_fstream<wchar_t>"), "std::wfstream"},
	{TEXT("std::basic_stringbuf<char>"), "std::stringbuf"},
	{TEXT("std::basic_stringbuf<wchar_t>"), "std::wstringbuf"},
	{TEXT("std::basic_istringstream<char>"), "std::istringstream"},
	{TEXT("std::basic_istringstream<wchar_t>"), "std::wistringstream"},
	{TEXT("std::basic_ostringstream<char>"), "std::ostringstream"},
	{TEXT("std::basic_ostringstream<wchar_t>"), "std::wostringstream"},
	{TEXT("std::basic_stringstream<char>"), "std::stringstream"},
	{TEXT("std::basic_stringstream<wchar_t>"), "std::wstringstream"},
	{TEXT("std::basic_regex<char>"), "std::regex"},
	{TEXT("std::basic_regex<wchar_t>"), "std::wregex"},
	{TEXT("std::match_results<char const*>"), "std::cmatch"},
	{TEXT("std::match_results<std::string::const_iterator>"), "std::smatch"},
	{TEXT("std::sub_match<char const*>"), "std::csub_match"},
	{TEXT("std::sub_match<std::string::const_iterator>"), "std::ssub_match"},
	{TEXT("std::chrono::duration<long, std::ratio<1l, 1000000000l>>"),
	 "std::chrono::nanoseconds"},
	{TEXT("std::chrono::duration<long, std::ratio<1l, 1000000l>>"),
	 "std::chrono::microseconds"},
	{TEXT("std::chrono::duration<long, std::ratio<1l, 1000l>>"), "std::chrono::milliseconds"},
	{TEXT("std::chrono::duration<long, std::ratio<1l, 1l>>"), "std::chrono::seconds"},
	{TEXT("std::chrono::duration<long, std::ratio<60l, 1l>>"), "std::chrono::minutes"},
	{TEXT("std::chrono::duration<long, std::ratio<3600l, 1l>>"), "std::chrono::hours"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool is_same(struct piece a, struct piece b)
{
	return a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0;
}

static bool is_text(struct piece p, const char *text)
{
	return strlen(text) == p.bytes && memcmp(p.at, text, p.bytes) == 0;
}

static bool starts_with(struct piece p, const char *text)
{
	return strlen(text) <= p.bytes && memcmp(p.at, text, strlen(text)) == 0;
}

/* ---- inline namespaces ----------------------------------------------------------------------- */

/* libstdc++: __cxx11, _V2, __8 (versioned builds). libc++: __1, __2, __ndk1 (Android), __Cr
 * (Chromium), __fs. */
static bool is_inline_in_std(struct piece word)
{
	static const char *const known[] = {"__cxx11", "_V2", "__ndk1", "__Cr", "__fs"};

	for (size_t i = 0; i < COUNT(known); i++)
		if (is_text(word, known[i]))
			return true;
	return word.bytes == 3 && starts_with(word, "__") && isdigit((unsigned char)word.at[2]);
}

bool shorten_rules_is_inline(struct piece scope, struct piece word)
{
	if (starts_with(scope, "std::"))
		return is_inline_in_std(word);
	if (is_text(scope, "fmt::"))
		return word.bytes > 1 && word.at[0] == 'v' && isdigit((unsigned char)word.at[1]);
	if (is_text(scope, "absl::"))
		return starts_with(word, "lts_");
	return is_text(scope, "nlohmann::") && starts_with(word, "json_abi_");
}

/* ---- default arguments ----------------------------------------------------------------------- */

/* Takes a piece off the front of a text if it is there. */
static bool take(struct piece *text, struct piece front)
{
	if (front.bytes > text->bytes || memcmp(text->at, front.at, front.bytes) != 0)
		return false;
	text->at += front.bytes;
	text->bytes -= front.bytes;
	return true;
}

/* "T const" is how names are demangled, "const T" how debug information writes it. */
static bool take_const(struct piece *text, struct piece type)
{
	static const struct piece behind = {" const", 6}, before = {"const ", 6};
	struct piece rest = *text;

	if (!(take(&rest, type) && take(&rest, behind))) {
		rest = *text;
		if (!(take(&rest, before) && take(&rest, type)))
			return false;
	}
	*text = rest;
	return true;
}

static bool is_default(struct piece text, const char *pattern, const struct piece *arguments)
{
	for (; *pattern; pattern++) {
		struct piece letter = {pattern, 1};
		bool fits;

		if (*pattern != '%')
			fits = take(&text, letter);
		else if (*++pattern == 'c')
			fits = take_const(&text, arguments[0]);
		else
			fits = take(&text, arguments[*pattern - '0']);
		if (!fits)
			return false;
	}
	return text.bytes == 0;
}

static const struct template_rule *find_template(struct piece name)
{
	if (!starts_with(name, "std::"))
		return NULL;
	for (size_t i = 0; i < COUNT(templates); i++)
		if (is_same(name, templates[i].name))
			return &templates[i];
	return NULL;
}

size_t shorten_rules_count_arguments(struct piece name, const struct piece *arguments, size_t count)
{
	const struct template_rule *rule = find_template(name);

	if (!rule || count > rule->needed + DEFAULTS_MOST)
		return count;
	while (count > rule->needed) {
		const char *pattern = rule->defaults[count - 1 - rule->needed];

		if (!pattern || !is_default(arguments[count - 1], pattern, arguments))
			break;
		count--;
	}
	return count;
}

/* ---- usual names ----------------------------------------------------------------------------- */

const char *shorten_rules_find_alias(struct piece whole)
{
	if (!starts_with(whole, "std::"))
		return NULL;
	for (size_t i = 0; i < COUNT(aliases); i++)
		if (is_same(whole, aliases[i].whole))
			return aliases[i].usual;
	return NULL;
}

/* Whether the container holds elements of that type. */
static bool holds(struct piece container, struct piece element)
{
	static const struct piece vector = {"std::vector<", 12}, end = {">", 1};

	if (is_text(container, "std::string"))
		return is_text(element, "char");
	if (is_text(container, "std::wstring"))
		return is_text(element, "wchar_t");
	return take(&container, vector) && take(&container, element) && take(&container, end) &&
	       container.bytes == 0;
}

static bool ends_with(struct piece p, const char *text)
{
	size_t bytes = strlen(text);

	return bytes <= p.bytes && memcmp(p.at + p.bytes - bytes, text, bytes) == 0;
}

const char *shorten_rules_find_iterator(struct piece name, const struct piece *arguments,
					size_t count)
{
	static const struct piece before = {"const ", 6};

	if (count != 2 || !is_text(name, "__gnu_cxx::__normal_iterator") ||
	    !ends_with(arguments[0], "*"))
		return NULL;
	struct piece pointed = {arguments[0].at, arguments[0].bytes - 1};
	if (holds(arguments[1], pointed))
		return "iterator";
	if (ends_with(pointed, " const"))
		pointed.bytes -= strlen(" const");
	else if (!take(&pointed, before))
		return NULL;
	return holds(arguments[1], pointed) ? "const_iterator" : NULL;
}
