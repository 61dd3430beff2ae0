/* columns_rows.c -- the rows of a table, wherever they are. Runs: offline; called by the profile
 * writer and reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "profile/columns.h"

/* The VECs of a profile are distinct types of one shape. Their members are copied in and out
 * through this one, not pointed at, as the compiler takes distinct types to be distinct objects. */
struct any_vec {
	void *at;
	size_t count;
	size_t room;
};

#define SAME_SHAPE(member) \
	_Static_assert(sizeof(((struct profile *)0)->member) == sizeof(struct any_vec), #member)
SAME_SHAPE(strings);
SAME_SHAPE(inputs);
SAME_SHAPE(modules);
SAME_SHAPE(nodes);
SAME_SHAPE(frames);
SAME_SHAPE(sites);
SAME_SHAPE(threads);
SAME_SHAPE(points);
SAME_SHAPE(changes);
SAME_SHAPE(parts);
SAME_SHAPE(blocks);
SAME_SHAPE(snapshots);
SAME_SHAPE(tags);
SAME_SHAPE(map_kinds);
SAME_SHAPE(map_sites);
SAME_SHAPE(lost);
SAME_SHAPE(links);
SAME_SHAPE(surveys);
SAME_SHAPE(pins);
SAME_SHAPE(cells);
SAME_SHAPE(types);
SAME_SHAPE(extents);
SAME_SHAPE(variables);
SAME_SHAPE(depths);

static struct any_vec get_vec(const struct table *t, const void *base)
{
	struct any_vec vec;

	memcpy(&vec, (const char *)base + t->place, sizeof(vec));
	return vec;
}

size_t columns_get_count(const struct table *t, const void *base)
{
	return t->fixed_rows ? t->fixed_rows : get_vec(t, base).count;
}

/* Like strchr: the writer hands in a constant profile and only reads, the reader its own and
 * writes. */
void *columns_get_row(const struct table *t, const void *base, size_t row)
{
	char *rows = (char *)(uintptr_t)base + t->place;

	if (!t->fixed_rows)
		rows = get_vec(t, base).at;
	return row ? rows + row * t->row_bytes : rows; /* there may be none at all */
}

void columns_set_count(const struct table *t, void *base, size_t count)
{
	struct any_vec vec = get_vec(t, base);

	if (count > vec.count) {
		vec.at = vec_grow(vec.at, &vec.room, count, t->row_bytes);
		memset((char *)vec.at + vec.count * t->row_bytes, 0,
		       (count - vec.count) * t->row_bytes);
	}
	vec.count = count;
	memcpy((char *)base + t->place, &vec, sizeof(vec));
}
