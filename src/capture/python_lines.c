/* python_lines.c -- which line of its source an instruction of Python belongs to.
 * Runs: any thread of the target, inside malloc. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_lines.h"

#define NO_LINE (-128) /* of a range in 3.10 */

static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t find_in_steps(const struct python_lines *l, int64_t offset)
{
	int64_t line = l->first_line, at = 0;

	for (size_t i = 0; i + 1 < l->bytes; i += 2) {
		at += l->table[i];
		if (at > offset)
			break;
		line += (int8_t)l->table[i + 1];
	}
	return to_line(line);
}

static uint32_t find_in_ranges(const struct python_lines *l, int64_t offset)
{
	int64_t line = l->first_line, end = 0;

	for (size_t i = 0; i + 1 < l->bytes; i += 2) {
		int8_t step = (int8_t)l->table[i + 1];

		end += l->table[i];
		line += step == NO_LINE ? 0 : step;
		if (offset < end)
			return step == NO_LINE ? 0 : to_line(line);
	}
	return 0;
}

/* A signed number in groups of six bits, the lowest first, as an entry of PEP 657 begins. */
static int64_t take_signed(const struct python_lines *l, size_t at)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < l->bytes && shift < 60; shift += 6) {
		uint8_t byte = l->table[at++];

		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Entries begin with a byte that has its top bit set: four bits of kind, three of length. */
static uint32_t find_in_places(const struct python_lines *l, int64_t offset)
{
	int64_t line = l->first_line, end = 0;

	for (size_t i = 0; i < l->bytes;) {
		uint32_t kind = l->table[i] >> 3 & 15;

		end += INT64_C(2) * ((l->table[i] & 7) + 1);
		if (kind == 13 || kind == 14)
			line += take_signed(l, i + 1);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		if (offset < end)
			return kind == 15 ? 0 : to_line(line);
		do
			i++;
		while (i < l->bytes && !(l->table[i] & 0x80));
	}
	return 0;
}

uint32_t python_lines_find(const struct python_lines *l, int64_t offset)
{
	if (offset < 0)
		return to_line(l->first_line);
	switch (l->kind) {
	case PYTHON_LINES_STEPS:
		return find_in_steps(l, offset);
	case PYTHON_LINES_RANGES:
		return find_in_ranges(l, offset);
	default:
		return find_in_places(l, offset);
	}
}
