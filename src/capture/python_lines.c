/* python_lines.c -- which line of its source an instruction of Python belongs to.
 * Runs: any thread of the target, inside malloc. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_lines.h"

#define NO_LINE (-128) /* of a range in 3.10 */

static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t find_in_steps(const struct python_lines *l, int64_t offset,
			      struct python_lines_mark *m)
{
	for (; m->at + 1 < l->bytes; m->at += 2) {
		if (m->end + l->table[m->at] > offset)
			break;
		m->end += l->table[m->at];
		m->step += (int8_t)l->table[m->at + 1];
	}
	return to_line(l->first_line + m->step);
}

static uint32_t find_in_ranges(const struct python_lines *l, int64_t offset,
			       struct python_lines_mark *m)
{
	for (; m->at + 1 < l->bytes; m->at += 2) {
		int8_t step = (int8_t)l->table[m->at + 1];
		int64_t end = m->end + l->table[m->at];
		int64_t line = m->step + (step == NO_LINE ? 0 : step);

		if (offset < end)
			return step == NO_LINE ? 0 : to_line(l->first_line + line);
		m->end = end;
		m->step = line;
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
static uint32_t find_in_places(const struct python_lines *l, int64_t offset,
			       struct python_lines_mark *m)
{
	while (m->at < l->bytes) {
		uint8_t first = l->table[m->at];
		uint32_t kind = first >> 3 & 15;
		int64_t end = m->end + INT64_C(2) * ((first & 7) + 1);
		int64_t line = m->step;

		if (kind == 13 || kind == 14)
			line += take_signed(l, m->at + 1);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		if (offset < end)
			return kind == 15 ? 0 : to_line(l->first_line + line);
		m->end = end;
		m->step = line;
		do
			m->at++;
		while (m->at < l->bytes && !(l->table[m->at] & 0x80));
	}
	return 0;
}

uint32_t python_lines_find_from(const struct python_lines *l, int64_t offset,
				struct python_lines_mark *mark)
{
	if (offset < 0)
		return to_line(l->first_line);
	if (offset < mark->end)
		*mark = (struct python_lines_mark){0};
	switch (l->kind) {
	case PYTHON_LINES_STEPS:
		return find_in_steps(l, offset, mark);
	case PYTHON_LINES_RANGES:
		return find_in_ranges(l, offset, mark);
	default:
		return find_in_places(l, offset, mark);
	}
}

uint32_t python_lines_find(const struct python_lines *l, int64_t offset)
{
	struct python_lines_mark mark = {0};

	return python_lines_find_from(l, offset, &mark);
}
