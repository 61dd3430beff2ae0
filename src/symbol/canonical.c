/* canonical.c -- names of functions as they are in every build.
 * Runs: offline, any thread; called where two profiles are compared.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/canonical.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/lambda.h"

/* What compilers put behind a dot when they make a second copy, or a part, of a function. Other
 * words stay: in Go and D a dot is part of the name. */
static const char *const clone_marks[] = {
	"constprop", "isra",   "part", "cold",	"lto_priv",
	"llvm",	     "__uniq", "warm", "clone", "localalias",
};

#define RUST_HASH_DIGITS 16u

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* ---- what stands at the end ------------------------------------------------------------------ */

/* The length without a final " [clone .x]"; `length` if there is none. */
static size_t without_clone_note(const char *name, size_t length)
{
	static const char mark[] = " [clone ";
	size_t at = length;

	if (length == 0 || name[length - 1] != ']')
		return length;
	while (at > 0 && name[at - 1] != '[')
		at--;
	if (at < 2 || strncmp(name + at - 2, mark, sizeof(mark) - 1) != 0)
		return length;
	return at - 2;
}

static bool is_clone_mark(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(clone_marks) / sizeof(*clone_marks); i++)
		if (strlen(clone_marks[i]) == length && strncmp(clone_marks[i], word, length) == 0)
			return true;
	return false;
}

/* Where the word begins that ends at `end`. */
static size_t find_word(const char *name, size_t end)
{
	while (end > 0 && is_word(name[end - 1]))
		end--;
	return end;
}

/* The length without a final ".0" or ".isra"; numbers go together with the mark before them. */
static size_t without_clone_suffix(const char *name, size_t length)
{
	size_t end = length, start = find_word(name, end);

	while (start > 1 && name[start - 1] == '.' && start < end &&
	       count_digits(name + start) >= end - start) {
		end = start - 1;
		start = find_word(name, end);
	}
	if (start < 2 || name[start - 1] != '.')
		return length;
	return is_clone_mark(name + start, end - start) ? start - 1 : length;
}

static size_t without_rust_hash(const char *name, size_t length)
{
	size_t hash = RUST_HASH_DIGITS + 3; /* "::h" */

	if (length <= hash || strncmp(name + length - hash, "::h", 3) != 0)
		return length;
	for (size_t i = length - RUST_HASH_DIGITS; i < length; i++)
		if (!isxdigit((unsigned char)name[i]))
			return length;
	return length - hash;
}

static size_t bare_length(const char *name)
{
	size_t length = strlen(name), before;

	do {
		before = length;
		length = without_clone_note(name, length);
		length = without_clone_suffix(name, length);
		length = without_rust_hash(name, length);
	} while (length < before);
	return length;
}

/* ---- numbers that count things of the same kind ---------------------------------------------- */

/* The digits to leave out at name[at]: those of {closure#0}, {unnamed type#1}. */
static size_t skipped_number(const char *name, size_t at, unsigned braces)
{
	if (at && braces && name[at - 1] == '#')
		return count_digits(name + at);
	return 0;
}

static char *copy_without_numbers(const char *name)
{
	size_t length = bare_length(name);
	char *out = mem_new(length + 1, 1);
	size_t used = 0;
	unsigned braces = 0;

	for (size_t i = 0; i < length; i++) {
		i += skipped_number(name, i, braces);
		if (i >= length)
			break;
		if (name[i] == '{')
			braces++;
		else if (name[i] == '}' && braces)
			braces--;
		out[used++] = name[i];
	}
	return out;
}

char *canonical_name(const char *name)
{
	char *unified = lambda_unify(name, false);
	char *canonical = copy_without_numbers(unified ? unified : name);

	free(unified);
	return canonical;
}

/* ---- without parameters ---------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* "operator()", "operator<": what follows the word is its name and no bracket. Its length, or 0. */
static size_t operator_length(const char *text, size_t at)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	if (!starts_with(text + at, word) || (at > 0 && is_word(text[at - 1])) ||
	    is_word(text[at + length]))
		return 0;
	if (starts_with(text + at + length, "()"))
		return length + 2;
	return length + strspn(text + at + length, "<>=!+-*/%^&|~,[]");
}

/* The end of the group that opens at text[at]. A group that is not closed ends with the text. */
static size_t skip_group(const char *text, size_t at, char open, char close)
{
	unsigned depth = 0;

	for (; text[at]; at++) {
		if (text[at] == open)
			depth++;
		else if (text[at] == close && --depth == 0)
			return at + 1;
	}
	return at;
}

/* What stands for a lambda besides lambda_find's names, after numbers were left out: "{closure#}",
 * "{unnamed}". Its length, or 0. */
static size_t lambda_length(const char *text, size_t at)
{
	static const char *const starts[] = {"{lambda", "{unnamed", "{closure", "{{closure"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (starts_with(text + at, starts[i]))
			return skip_group(text, at, '{', '}') - at;
	return 0;
}

/* "(anonymous namespace)" and names of operators, which are to be copied as they are. */
static size_t word_length(const char *text, size_t at)
{
	static const char anonymous[] = "(anonymous namespace)";

	if (starts_with(text + at, anonymous))
		return sizeof(anonymous) - 1;
	return operator_length(text, at);
}

/* Copies without groups in parentheses, with one word for all lambdas, and without the arguments of
 * templates if `bare`. The first character is part of a name whatever it is: <T as Trait>::f. */
static char *copy_without_parameters(const char *text, bool bare)
{
	static const char lambda[] = "{lambda}";
	/* None of them is shorter than half of it. */
	char *out = mem_new(2 * strlen(text) + sizeof(lambda), 1);
	size_t used = 0, at = 0, length;

	while (text[at]) {
		if ((length = lambda_length(text, at))) {
			memcpy(out + used, lambda, sizeof(lambda) - 1);
			used += sizeof(lambda) - 1;
			at += length;
		} else if ((length = word_length(text, at))) {
			memcpy(out + used, text + at, length);
			used += length;
			at += length;
		} else if (text[at] == '(') {
			at = skip_group(text, at, '(', ')');
		} else if (bare && text[at] == '<' && at > 0) {
			at = skip_group(text, at, '<', '>');
		} else {
			out[used++] = text[at++];
		}
	}
	return out;
}

static size_t without_qualifier(const char *text, size_t length)
{
	static const char *const words[] = {" const", " volatile", " &", " &&", " noexcept"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t bytes = strlen(words[i]);
		if (length > bytes && strncmp(text + length - bytes, words[i], bytes) == 0)
			return length - bytes;
	}
	return length;
}

/* Where the name begins behind a return type: after the last blank outside of brackets that comes
 * before an operator's name. */
static size_t find_name(const char *text)
{
	size_t start = 0;
	unsigned depth = 0;

	for (size_t i = 0; text[i]; i++) {
		if (operator_length(text, i) && depth == 0)
			return start;
		if (strchr("<({[", text[i]))
			depth++;
		else if (strchr(">)}]", text[i]) && depth)
			depth--;
		else if (text[i] == ' ' && depth == 0)
			start = i + 1;
	}
	return start;
}

static char *reduce(const char *name, bool bare)
{
	char *canonical = canonical_name(name);
	char *reduced = copy_without_parameters(canonical, bare);
	size_t length = strlen(reduced), before;

	do {
		before = length;
		length = without_qualifier(reduced, length);
		while (length > 0 && reduced[length - 1] == ' ')
			length--;
	} while (length < before);
	reduced[length] = '\0';
	size_t start = find_name(reduced);
	memmove(reduced, reduced + start, length - start + 1);
	if (*reduced) {
		free(canonical);
		return reduced;
	}
	free(reduced);
	return canonical;
}

char *canonical_loose_name(const char *name)
{
	return reduce(name, false);
}

char *canonical_bare_name(const char *name)
{
	return reduce(name, true);
}
