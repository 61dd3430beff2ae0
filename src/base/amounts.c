/* amounts.c -- sizes, counts and percentages as people type them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/amounts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MILLION 1000000u

/* A decimal number: what is before the point, and millionths behind it. */
struct number {
	uint64_t whole;
	uint64_t millionths;
};

/* Reads a number; the end of it, or NULL if there is none or it is too large. */
static const char *take_number(const char *text, struct number *n)
{
	const char *start = text;
	uint64_t scale = MILLION;

	*n = (struct number){0, 0};
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(n->whole, 10u, &n->whole) ||
		    __builtin_add_overflow(n->whole, (uint64_t)(*text - '0'), &n->whole))
			return NULL;
	if (text == start || *text != '.')
		return text == start ? NULL : text;
	for (start = ++text; isdigit((unsigned char)*text); text++)
		n->millionths += (uint64_t)(*text - '0') * (scale /= 10);
	return text == start ? NULL : text;
}

static bool scale_up(struct number n, uint64_t unit, uint64_t *result)
{
	unsigned __int128 value = (unsigned __int128)n.whole * unit +
				  (unsigned __int128)n.millionths * unit / MILLION;

	*result = (uint64_t)value;
	return value <= UINT64_MAX;
}

static uint64_t power(uint64_t base, size_t exponent)
{
	uint64_t value = 1;

	while (exponent-- > 0)
		value *= base;
	return value;
}

/* The exponent of a letter: none 0, K 1, M 2, ...; moves behind it. */
static size_t take_letter(const char **text)
{
	static const char letters[] = "kmgt";
	const char *found = **text ? strchr(letters, tolower((unsigned char)**text)) : NULL;

	if (!found)
		return 0;
	(*text)++;
	return (size_t)(found - letters) + 1;
}

bool amounts_parse_bytes(const char *text, uint64_t *bytes)
{
	struct number n;
	const char *unit = take_number(text, &n);

	if (!unit)
		return false;
	size_t exponent = take_letter(&unit);
	if (!exponent && n.millionths)
		return false;
	if (*unit == '\0' || (exponent && strcasecmp(unit, "ib") == 0))
		return scale_up(n, power(1024, exponent), bytes);
	if (strcasecmp(unit, "b") == 0)
		return scale_up(n, power(1000, exponent), bytes);
	return false;
}

bool amounts_parse_count(const char *text, uint64_t *count)
{
	struct number n;
	const char *unit = take_number(text, &n);

	if (!unit)
		return false;
	size_t exponent = take_letter(&unit);
	if (!exponent && n.millionths)
		return false;
	return *unit == '\0' && scale_up(n, power(1000, exponent), count);
}

bool amounts_parse_percent(const char *text, uint64_t *parts)
{
	struct number n;
	const char *unit = take_number(text, &n);

	return unit && strcmp(unit, "%") == 0 && scale_up(n, MILLION / 100, parts) &&
	       *parts <= UINT32_MAX * (uint64_t)10;
}
