/* plumbing.c -- what lies between a program and the memory that it asks for. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/plumbing.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A part of a name, which has no end of its own. */
struct part {
	const char *at;
	size_t bytes;
};

static bool starts_with(struct part p, const char *start)
{
	return p.bytes >= strlen(start) && strncmp(p.at, start, strlen(start)) == 0;
}

static bool starts_with_any(const char *text, const char *const *starts)
{
	while (*starts && strncmp(text, *starts, strlen(*starts)) != 0)
		starts++;
	return *starts != NULL;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* What is called operator< or operator() must not be taken for brackets. */
static bool is_operator(const char *at)
{
	static const char word[] = "operator";

	return strncmp(at, word, sizeof(word) - 1) == 0 && !is_word(at[sizeof(word) - 1]);
}

/* The name without what is returned and what is given: from the last blank outside of brackets to
 * the first parenthesis. Empty if there is none. */
static struct part find_name(const char *function)
{
	const char *begin = function;
	int depth = 0;

	for (const char *at = function; *at; at++) {
		bool is_start = at == function || !is_word(at[-1]);

		if (depth == 0 && is_start && is_operator(at))
			return (struct part){begin, (size_t)(at - begin)};
		if (depth == 0 && *at == '(')
			return (struct part){begin, (size_t)(at - begin)};
		if (depth == 0 && *at == ' ')
			begin = at + 1;
		depth += (strchr("<({[", *at) != NULL) - (strchr(">)}]", *at) != NULL);
	}
	return (struct part){function, 0};
}

/* Up to "::" outside of brackets; `rest` begins behind it. */
static struct part take_component(struct part *rest)
{
	size_t i = 0;
	int depth = 0;

	for (; i < rest->bytes && !(depth == 0 && rest->at[i] == ':'); i++)
		depth += (strchr("<({[", rest->at[i]) != NULL) -
			 (strchr(">)}]", rest->at[i]) != NULL);
	struct part first = {rest->at, i};
	while (i < rest->bytes && rest->at[i] == ':')
		i++;
	*rest = (struct part){rest->at + i, rest->bytes - i};
	return first;
}

static bool is_equal(struct part p, const char *text)
{
	return p.bytes == strlen(text) && strncmp(p.at, text, p.bytes) == 0;
}

/* Namespaces that are there for the sake of linking, in names that have not been shortened. */
static bool is_inline_namespace(struct part p)
{
	return is_equal(p, "__cxx11") || is_equal(p, "__1") || is_equal(p, "__ndk1") ||
	       is_equal(p, "_V2");
}

/* The language keeps such names for its library. */
static bool is_reserved(struct part p)
{
	return p.bytes > 1 && p.at[0] == '_' && (p.at[1] == '_' || isupper((unsigned char)p.at[1]));
}

static bool is_allocator(struct part p)
{
	return starts_with(p, "allocator<") || starts_with(p, "allocator_traits<") ||
	       starts_with(p, "new_allocator<");
}

static enum plumbing judge_cxx(const char *function, struct part rest)
{
	struct part part = take_component(&rest);

	if (is_equal(part, "__gnu_cxx"))
		return PLUMBING_INSIDE;
	if (!is_equal(part, "std"))
		return PLUMBING_NONE;
	while (rest.bytes) {
		part = take_component(&rest);
		if (is_allocator(part) || (is_reserved(part) && !is_inline_namespace(part)))
			return PLUMBING_INSIDE;
	}
	/* The half of make_shared that has to be public for the sake of a friend. */
	return strstr(function, "(std::_Sp_alloc_shared_tag<") ? PLUMBING_INSIDE : PLUMBING_CALLED;
}

/* Names of implementations have a bracket before them. What begins threads and programs is not
 * there to allocate: whatever has no name between it and the leaf is the program's. */
static enum plumbing judge_rust(const char *function)
{
	static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::", NULL};
	static const char *const runtime[] = {
		"std::rt::", "std::sys", "std::thread::", "std::panic", "core::ops::function::",
		NULL};
	const char *name = function + (*function == '<');

	return starts_with_any(name, crates) && !starts_with_any(name, runtime) ? PLUMBING_CALLED
										: PLUMBING_NONE;
}

enum plumbing plumbing_judge(const char *function)
{
	struct part name = find_name(function);

	return name.bytes ? judge_cxx(function, name) : judge_rust(function);
}

size_t plumbing_count_leaves(const struct model_frame *frames, const struct model_stack *stack)
{
	size_t called = SIZE_MAX, at = 0;

	for (; at < stack->frames.count; at++) {
		const struct model_frame *f = &frames[stack->frames.at[at]];

		if (!f->hidden && f->plumbing == PLUMBING_NONE)
			break;
		if (!f->hidden && f->plumbing == PLUMBING_CALLED)
			called = at;
	}
	if (called != SIZE_MAX)
		return called;
	return at < stack->frames.count ? at : at - 1;
}
