/* shorten_rules.h -- what shorten.c knows about the names of the C++ library.
 * Runs: offline, any thread; pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_SHORTEN_RULES_H
#define MIDDEN_SYMBOL_SHORTEN_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a text, not NUL-terminated. */
struct piece {
	const char *at;
	size_t bytes;
};

/* Whether `word` is an inline namespace where it stands after `scope` ("std::", "std::chrono::").
 */
bool shorten_rules_is_inline(struct piece scope, struct piece word);

/* How many of a template's arguments say something: those at the end that are the default do not.
 * The arguments are shortened themselves already. */
size_t shorten_rules_count_arguments(struct piece name, const struct piece *arguments,
				     size_t count);

/* The usual name of a template with its arguments, both shortened already (std::basic_string<char>
 * is std::string); NULL if it has none. */
const char *shorten_rules_find_alias(struct piece whole);

/* For __gnu_cxx::__normal_iterator<pointer, container>: "iterator" or "const_iterator" of the
 * container; NULL if it is neither. */
const char *shorten_rules_find_iterator(struct piece name, const struct piece *arguments,
					size_t count);

#endif
