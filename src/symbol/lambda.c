/* lambda.c -- C++ lambdas, which every compiler names in its own way, by one name.
 * Runs: offline, any thread; called while a model is built and where profiles are compared.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbol/lambda.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are no work of a compiler, and would take time that grows with the square. */
#define NAME_MAX_BYTES 16384u

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The end of the group that opens at `text`; NULL if it is not closed. */
static const char *find_end(const char *text, char open, char close)
{
	unsigned depth = 0;

	for (; *text; text++) {
		if (*text == open)
			depth++;
		else if (*text == close && --depth == 0)
			return text + 1;
	}
	return NULL;
}

static size_t length_to(const char *text, const char *end)
{
	return end ? (size_t)(end - text) : 0;
}

/* The digits before the closing bracket: "{lambda(int)#2}", "{lambda#2}". */
static size_t find_braced(const char *text, unsigned long *number)
{
	const char *end = find_end(text, '{', '}');
	const char *digits = end ? end - 1 : text;

	while (digits > text && isdigit((unsigned char)digits[-1]))
		digits--;
	if (end && digits > text && digits[-1] == '#')
		*number = strtoul(digits, NULL, 10);
	return length_to(text, end);
}

/* "$_0": the first one is 0. */
static size_t find_dollar(const char *text, unsigned long *number)
{
	size_t digits = strspn(text + 2, "0123456789");

	if (is_word(text[2 + digits]))
		return 0;
	if (digits)
		*number = strtoul(text + 2, NULL, 10) + 1;
	return 2 + digits;
}

/* "'lambda'(int)" is the first one, "'lambda0'(int)" the second. */
static size_t find_quoted(const char *text, unsigned long *number)
{
	static const char word[] = "'lambda";
	const char *digits = text + sizeof(word) - 1;
	size_t count = strspn(digits, "0123456789");

	if (digits[count] != '\'')
		return 0;
	*number = count ? strtoul(digits, NULL, 10) + 2 : 1;
	const char *end = digits + count + 1;
	return length_to(text, *end == '(' ? find_end(end, '(', ')') : end);
}

size_t lambda_find(const char *text, size_t at, unsigned long *number)
{
	static const char unnamed[] = "{unnamed}";
	const char *name = text + at;

	*number = 0;
	switch (*name) {
	case '{':
		if (starts_with(name, "{unnamed}::operator()"))
			return sizeof(unnamed) - 1;
		return starts_with(name, "{lambda") ? find_braced(name, number) : 0;
	case '$':
		return name[1] == '_' && !(at && is_word(text[at - 1])) ? find_dollar(name, number)
									: 0;
	case '<':
		return starts_with(name, "<lambda") ? length_to(name, find_end(name, '<', '>')) : 0;
	case '\'':
		return starts_with(name, "'lambda") ? find_quoted(name, number) : 0;
	default:
		return 0;
	}
}

char *lambda_unify(const char *name, bool numbered)
{
	char *out = NULL;
	size_t bytes = 0, length;
	unsigned long number;

	/* Most names have none, which costs no memory to see. */
	if ((!strstr(name, "lambda") && !strstr(name, "$_") && !strstr(name, "{unnamed}")) ||
	    strlen(name) > NAME_MAX_BYTES)
		return NULL;
	FILE *page = open_memstream(&out, &bytes);
	for (size_t at = 0; page && name[at]; at += length ? length : 1) {
		length = lambda_find(name, at, &number);
		if (length && numbered && number)
			fprintf(page, "{lambda#%lu}", number);
		else if (length)
			fputs("{lambda}", page);
		else
			fputc(name[at], page);
	}
	if (!page)
		return NULL;
	(void)fclose(page);
	if (strcmp(out, name) != 0)
		return out;
	free(out);
	return NULL;
}
