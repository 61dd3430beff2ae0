/* pairing.c -- parts of two profiles brought together in rows, each part in exactly one.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/pairing.h"

#include <string.h>

/* A part on its way into a row. */
struct entry {
	struct pairing_part *part;
	uint64_t marks;
	size_t lines; /* where they begin in sorter.lines */
	uint32_t line_count;
	uint32_t key;
	uint8_t side;
};

struct sorter {
	struct pairing *pairing;
	const struct pairing_keys *keys;
	VEC(struct entry) entries;
	struct pairing_lines lines; /* of the key under way */
};

/* ---- entries by key -------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

static void list_entries(struct sorter *s)
{
	struct pairing *p = s->pairing;

	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < p->parts[side].count; i++) {
			struct pairing_part *part = &p->parts[side].at[i];
			if (part->row)
				continue;
			struct entry e = {.part = part, .side = (uint8_t)side};
			e.key = s->keys->get(s->keys->context, side, part->subject, &e.marks);
			if (e.key)
				*vec_push(&s->entries) = e;
		}
	}
	if (s->entries.count)
		qsort(s->entries.at, s->entries.count, sizeof(*s->entries.at), compare_keys);
}

/* ---- lines within a key ---------------------------------------------------------------------- */

/* A run of entries: of one key, of one side of it, of one sequence of lines. */
struct run {
	struct entry *at;
	size_t count;
};

static struct run behind(struct run r, size_t count)
{
	return (struct run){r.at + count, r.count - count};
}

static int compare_lines(const uint32_t *lines, const struct entry *a, const struct entry *b)
{
	for (uint32_t i = 0; i < a->line_count && i < b->line_count; i++) {
		uint32_t x = lines[a->lines + i], y = lines[b->lines + i];
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->line_count > b->line_count) - (a->line_count < b->line_count);
}

/* Heaps are sorted in place, in n log n and without a context that qsort has no room for. */
static void sift_down(struct run r, const uint32_t *lines, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < r.count; at = child) {
		if (child + 1 < r.count && compare_lines(lines, &r.at[child], &r.at[child + 1]) < 0)
			child++;
		if (compare_lines(lines, &r.at[at], &r.at[child]) >= 0)
			return;
		struct entry kept = r.at[at];
		r.at[at] = r.at[child];
		r.at[child] = kept;
	}
}

static void sort_by_lines(struct run r, const uint32_t *lines)
{
	for (size_t i = r.count / 2; i-- > 0;)
		sift_down(r, lines, i);
	while (r.count > 1) {
		struct entry last = r.at[r.count - 1];
		r.at[r.count - 1] = r.at[0];
		r.at[0] = last;
		r.count--;
		sift_down(r, lines, 0);
	}
}

/* The first entries that have the same lines. */
static size_t count_equal(struct run r, const uint32_t *lines)
{
	size_t count = r.count ? 1 : 0;

	while (count < r.count && compare_lines(lines, &r.at[0], &r.at[count]) == 0)
		count++;
	return count;
}

static size_t count_distinct(struct run r, const uint32_t *lines)
{
	size_t distinct = 0;

	for (; r.count; r = behind(r, count_equal(r, lines)))
		distinct++;
	return distinct;
}

static size_t count_common(struct run a, struct run b, const uint32_t *lines)
{
	size_t common = 0;

	while (a.count && b.count) {
		int order = compare_lines(lines, &a.at[0], &b.at[0]);
		if (order <= 0)
			a = behind(a, count_equal(a, lines));
		if (order >= 0)
			b = behind(b, count_equal(b, lines));
		common += order == 0;
	}
	return common;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void give_row(struct run r, uint32_t row)
{
	for (size_t i = 0; i < r.count; i++)
		r.at[i].part->row = row;
}

/* A row for each distinct sequence of lines; `in_order` pairs them off one by one, otherwise equal
 * ones go together. */
static void give_rows(struct sorter *s, struct run a, struct run b, bool in_order)
{
	const uint32_t *lines = s->lines.at;

	while (a.count || b.count) {
		size_t of_a = count_equal(a, lines), of_b = count_equal(b, lines);
		if (a.count && b.count && !in_order) {
			int order = compare_lines(lines, &a.at[0], &b.at[0]);
			of_a = order <= 0 ? of_a : 0;
			of_b = order >= 0 ? of_b : 0;
		}
		uint32_t row = ++s->pairing->rows;
		give_row((struct run){a.at, of_a}, row);
		give_row((struct run){b.at, of_b}, row);
		a = behind(a, of_a);
		b = behind(b, of_b);
	}
}

static void take_lines(struct sorter *s, struct run r)
{
	s->lines.count = 0;
	for (size_t i = 0; i < r.count; i++) {
		struct entry *e = &r.at[i];
		e->lines = s->lines.count;
		s->keys->add_lines(s->keys->context, e->side, e->part->subject, &s->lines);
		e->line_count = (uint32_t)(s->lines.count - e->lines);
	}
}

static void split_by_lines(struct sorter *s, struct run a, struct run b)
{
	const uint32_t *lines = s->lines.at;

	sort_by_lines(a, lines);
	sort_by_lines(b, lines);
	size_t of_a = count_distinct(a, lines), of_b = count_distinct(b, lines);
	size_t common = count_common(a, b, lines);
	if (common == (of_a < of_b ? of_a : of_b))
		give_rows(s, a, b, false);
	else if (of_a == of_b)
		give_rows(s, a, b, true);
	else {
		uint32_t row = ++s->pairing->rows;
		give_row(a, row);
		give_row(b, row);
	}
}

static void take_key(struct sorter *s, struct run a, struct run b)
{
	if (s->keys->add_lines && (a.count > 1 || b.count > 1)) {
		take_lines(s, (struct run){a.at, a.count + b.count});
		split_by_lines(s, a, b);
		return;
	}
	uint32_t row = ++s->pairing->rows;
	give_row(a, row);
	give_row(b, row);
}

static uint64_t all_marks(struct run r)
{
	uint64_t marks = 0;

	for (size_t i = 0; i < r.count; i++)
		marks |= r.at[i].marks;
	return marks;
}

/* Goes through the keys; those of one side alone only if `lonely`. */
static void take_keys(struct sorter *s, bool lonely)
{
	struct run rest = {s->entries.at, s->entries.count};

	while (rest.count) {
		size_t of_a = 0, all = 0;
		while (all < rest.count && rest.at[all].key == rest.at[0].key)
			of_a += rest.at[all++].side == 0;
		struct run a = {rest.at, of_a}, b = {rest.at + of_a, all - of_a};
		bool paired = a.count && b.count && !(all_marks(a) & all_marks(b));
		if (lonely || paired)
			take_key(s, a, b);
		rest = behind(rest, all);
	}
}

static void run_pass(struct pairing *p, const struct pairing_keys *keys, bool lonely)
{
	struct sorter s = {.pairing = p, .keys = keys};

	list_entries(&s);
	take_keys(&s, lonely);
	vec_free(&s.entries);
	vec_free(&s.lines);
}

void pairing_pass(struct pairing *p, const struct pairing_keys *keys)
{
	run_pass(p, keys, false);
}

void pairing_finish(struct pairing *p, const struct pairing_keys *keys)
{
	run_pass(p, keys, true);
}

void pairing_join(struct pairing *p, size_t old_part, size_t new_part)
{
	uint32_t row = ++p->rows;

	p->parts[0].at[old_part].row = row;
	p->parts[1].at[new_part].row = row;
}

void pairing_fini(struct pairing *p)
{
	vec_free(&p->parts[0]);
	vec_free(&p->parts[1]);
}
