/* diff.c -- what changed between two profiles: grown, shrunk, new, gone.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/diff.h"

#include <string.h>

#include "model/match.h"
#include "model/pairing.h"
#include "model/pathkey.h"
#include "model/subsequence.h"
#include "model/suppress.h"

struct builder {
	struct diff *diff;
	const struct model *const *models;
	const struct diff_request *request;
	struct match *match;
	enum match_level level; /* of the pass under way */
	struct pathkey *paths;	/* the same for stacks */
	struct pairing pairing;
	uint32_t *part_of[2]; /* by frame: its part, plus one; not by stack */
	struct model_stack stack;
};

static const char *const by_names[DIFF_BY_KINDS] = {"stack", "function", "line", "module"};

const char *diff_by_name(enum diff_by by)
{
	return by_names[by];
}

enum diff_by diff_by_find(const char *name)
{
	unsigned by = 0;

	while (by < DIFF_BY_KINDS && strcmp(name, by_names[by]) != 0)
		by++;
	return (enum diff_by)by;
}

unsigned diff_get_side(const struct diff_row *row)
{
	return row->subjects[DIFF_NEW_SIDE] != DIFF_NOBODY ? DIFF_NEW_SIDE : DIFF_OLD_SIDE;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void list_sites(struct builder *b, unsigned side)
{
	size_t count = model_get_profile(b->models[side])->sites.count;

	for (uint32_t i = 0; i < count; i++)
		*vec_push(&b->pairing.parts[side]) = (struct pairing_part){.subject = i};
}

/* The frame that stands for all those that are one part with it. */
static uint32_t find_subject(struct builder *b, unsigned side, uint32_t frame, struct map *modules)
{
	if (b->diff->by == DIFF_BY_FUNCTION)
		return model_get_frame(b->models[side], frame)->group;
	if (b->diff->by == DIFF_BY_LINE)
		return frame;
	uint32_t *first = map_reserve(modules, b->match->numbers[side][MATCH_MODULE][frame]);
	if (!*first)
		*first = frame + 1;
	return *first - 1;
}

static void list_frames(struct builder *b, unsigned side)
{
	size_t count = model_get_frame_count(b->models[side]);
	struct map modules = {0};

	b->part_of[side] = mem_new(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t subject = find_subject(b, side, i, &modules);
		if (subject == i) {
			*vec_push(&b->pairing.parts[side]) = (struct pairing_part){.subject = i};
			b->part_of[side][i] = (uint32_t)b->pairing.parts[side].count;
		}
		b->part_of[side][i] = b->part_of[side][subject];
	}
	map_free(&modules);
}

/* ---- pairing --------------------------------------------------------------------------------- */

static uint32_t get_path(void *context, unsigned side, uint32_t site, uint64_t *marks)
{
	struct builder *b = context;

	return pathkey_get(b->paths, side, site, marks);
}

static uint32_t get_number(void *context, unsigned side, uint32_t frame, uint64_t *marks)
{
	struct builder *b = context;

	(void)marks;
	return b->match->numbers[side][b->level][frame];
}

static void add_line(void *context, unsigned side, uint32_t frame, struct pairing_lines *out)
{
	struct builder *b = context;

	*vec_push(out) = model_get_frame(b->models[side], frame)->line;
}

static void add_lines(void *context, unsigned side, uint32_t site, struct pairing_lines *out)
{
	struct builder *b = context;

	model_get_stack(b->models[side], site, &b->stack);
	for (size_t i = b->stack.frames.count; i-- > 0;)
		add_line(context, side, b->stack.frames.at[i], out);
}

/* Sites in growing tolerance. What is found by a tolerant rule has other frames on either side, so
 * that lines say nothing there. */
static void pair_stacks(struct builder *b)
{
	struct pairing_keys keys = {.get = get_path, .context = b};

	list_sites(b, DIFF_OLD_SIDE);
	list_sites(b, DIFF_NEW_SIDE);
	for (unsigned rule = 0; rule < PATHKEY_RULES; rule++) {
		keys.add_lines = rule <= PATHKEY_BARE ? add_lines : NULL;
		b->paths = pathkey_new(b->models, b->match, (enum pathkey_rule)rule);
		pairing_pass(&b->pairing, &keys);
		pathkey_free(b->paths);
	}
	subsequence_pair(&b->pairing, b->models, b->match);
	keys.add_lines = add_lines;
	b->paths = pathkey_new(b->models, b->match, PATHKEY_STRICT);
	pairing_finish(&b->pairing, &keys);
	pathkey_free(b->paths);
}

static void pair_frames(struct builder *b)
{
	struct pairing_keys keys = {.get = get_number, .context = b};

	if (b->diff->by == DIFF_BY_LINE)
		keys.add_lines = add_line;
	list_frames(b, DIFF_OLD_SIDE);
	list_frames(b, DIFF_NEW_SIDE);
	b->level = b->diff->by == DIFF_BY_MODULE ? MATCH_MODULE : MATCH_STRICT;
	pairing_pass(&b->pairing, &keys);
	if (b->level == MATCH_STRICT) {
		b->level = MATCH_LOOSE;
		pairing_pass(&b->pairing, &keys);
		b->level = MATCH_STRICT;
	}
	pairing_finish(&b->pairing, &keys);
}

/* ---- amounts --------------------------------------------------------------------------------- */

static void add_to(struct amount *sum, struct amount a)
{
	*sum = amount_plus(*sum, a);
}

static uint32_t row_of_frame(const struct builder *b, unsigned side, uint32_t frame)
{
	return b->pairing.parts[side].at[b->part_of[side][frame] - 1].row - 1;
}

/* `last_site`, by row, is the site that was added last, plus one: recursion counts once. */
static void add_callers(struct builder *b, unsigned side, size_t site, struct amount amount,
			size_t *last_site)
{
	for (size_t i = 0; i < b->stack.frames.count; i++) {
		uint32_t row = row_of_frame(b, side, b->stack.frames.at[i]);
		if (last_site[row] == site + 1)
			continue;
		last_site[row] = site + 1;
		add_to(&b->diff->rows.at[row].totals[side], amount);
	}
}

static struct amount get_amount(const struct builder *b, unsigned side, size_t site)
{
	const struct profile *p = model_get_profile(b->models[side]);
	const bool *suppressed = b->request->suppressed[side];

	if (b->request->figure == FIGURE_LEAKED && suppressed && suppressed[site])
		return (struct amount){0};
	return figure_get(&p->sites.at[site], b->request->figure);
}

/* Which part a site's own amount counts for. */
static size_t part_of_site(struct builder *b, unsigned side, uint32_t site)
{
	if (b->diff->by == DIFF_BY_STACK)
		return site;
	model_get_stack(b->models[side], site, &b->stack);
	return b->part_of[side][b->stack.frames.at[0]] - 1;
}

/* Where a row stands for several that cannot be told apart, it is named by the one that has most,
 * not by one that may have nothing. */
static void name_rows(struct builder *b, unsigned side, const uint64_t *held)
{
	struct diff *d = b->diff;
	uint64_t *most = mem_new(d->rows.count, sizeof(*most));

	for (size_t i = 0; i < b->pairing.parts[side].count; i++) {
		const struct pairing_part *part = &b->pairing.parts[side].at[i];
		uint32_t row = part->row - 1;
		if (held[i] <= most[row])
			continue;
		most[row] = held[i];
		d->rows.at[row].subjects[side] = part->subject;
	}
	free(most);
}

static void add_sites(struct builder *b, unsigned side)
{
	const struct profile *p = model_get_profile(b->models[side]);
	struct diff *d = b->diff;
	size_t *last_site = mem_new(d->rows.count, sizeof(*last_site));
	uint64_t *held = mem_new(b->pairing.parts[side].count + 1, sizeof(*held));

	for (size_t i = 0; i < p->sites.count; i++) {
		struct amount amount = get_amount(b, side, i);
		size_t part = part_of_site(b, side, (uint32_t)i);
		uint32_t row = b->pairing.parts[side].at[part].row - 1;
		held[part] += figure_get_value(amount, d->figure);
		add_to(&d->whole[side], amount);
		add_to(&d->rows.at[row].amounts[side], amount);
		if (d->by == DIFF_BY_FUNCTION && !amount_is_zero(amount))
			add_callers(b, side, i, amount, last_site);
	}
	name_rows(b, side, held);
	free(held);
	free(last_site);
}

static void make_rows(struct builder *b)
{
	struct diff *d = b->diff;

	vec_reserve(&d->rows, b->pairing.rows);
	d->rows.count = b->pairing.rows;
	for (size_t i = 0; i < d->rows.count; i++)
		d->rows.at[i] = (struct diff_row){.subjects = {DIFF_NOBODY, DIFF_NOBODY}};
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < b->pairing.parts[side].count; i++) {
			const struct pairing_part *part = &b->pairing.parts[side].at[i];
			struct diff_row *row = &d->rows.at[part->row - 1];
			if (row->counts[side]++ == 0)
				row->subjects[side] = part->subject;
		}
		add_sites(b, side);
	}
}

/* ---- which changed, and in what order -------------------------------------------------------- */

static bool is_equal(const struct amount a[2])
{
	return a[0].bytes == a[1].bytes && a[0].blocks == a[1].blocks;
}

bool diff_is_caller(const struct diff_row *row)
{
	return is_equal(row->amounts);
}

static const struct amount *get_changed(const struct diff_row *row)
{
	return diff_is_caller(row) ? row->totals : row->amounts;
}

int64_t diff_get_change(const struct diff *d, const struct diff_row *row)
{
	const struct amount *a = get_changed(row);

	return diff_change(figure_get_value(a[0], d->figure), figure_get_value(a[1], d->figure));
}

bool diff_has_grown(const struct diff *d, const struct diff_row *row)
{
	const struct amount *a = get_changed(row);
	uint64_t before = figure_get_value(a[0], d->figure);
	uint64_t now = figure_get_value(a[1], d->figure);

	if (before != now)
		return now > before;
	return figure_is_count(d->figure) ? a[1].bytes > a[0].bytes : a[1].blocks > a[0].blocks;
}

static enum diff_status get_status(const struct diff *d, const struct diff_row *row)
{
	if (is_equal(row->amounts) && is_equal(row->totals))
		return DIFF_SAME;
	if (row->subjects[DIFF_OLD_SIDE] == DIFF_NOBODY)
		return DIFF_NEW;
	if (row->subjects[DIFF_NEW_SIDE] == DIFF_NOBODY)
		return DIFF_GONE;
	return diff_has_grown(d, row) ? DIFF_GROWN : DIFF_SHRUNK;
}

static void drop_same(struct diff *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->rows.count; i++) {
		struct diff_row *row = &d->rows.at[i];
		row->status = get_status(d, row);
		if (diff_is_caller(row)) {
			add_to(&d->same, row->amounts[0]);
			d->same_count += !amount_is_zero(row->amounts[0]);
		} else {
			d->gross += diff_distance(figure_get_value(row->amounts[0], d->figure),
						  figure_get_value(row->amounts[1], d->figure));
		}
		if (row->status != DIFF_SAME)
			d->rows.at[kept++] = *row;
	}
	d->rows.count = kept;
}

struct order_key {
	uint64_t distance;
	uint32_t row;
	uint8_t section; /* grown, shrunk, callers */
};

static int compare_order(const void *left, const void *right)
{
	const struct order_key *a = left, *b = right;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->distance != b->distance)
		return a->distance > b->distance ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static void sort_rows(struct diff *d)
{
	struct order_key *keys = mem_new(d->rows.count, sizeof(*keys));
	struct diff_row *sorted = mem_new(d->rows.count, sizeof(*sorted));

	for (uint32_t i = 0; i < d->rows.count; i++) {
		const struct diff_row *row = &d->rows.at[i];
		int64_t change = diff_get_change(d, row);
		keys[i] = (struct order_key){
			.distance = change < 0 ? -(uint64_t)change : (uint64_t)change,
			.row = i,
			.section = diff_is_caller(row) ? 2 : !diff_has_grown(d, row),
		};
	}
	qsort(keys, d->rows.count, sizeof(*keys), compare_order);
	for (size_t i = 0; i < d->rows.count; i++)
		sorted[i] = d->rows.at[keys[i].row];
	free(keys);
	free(d->rows.at);
	d->rows.at = sorted;
	d->rows.room = d->rows.count;
}

struct amount diff_get_total(const struct diff *d, unsigned side, enum figure f)
{
	struct amount total = figure_get_total(model_get_profile(d->models[side]), f);

	/* A damaged file can have stacks that come to more than its totals. */
	if (f != FIGURE_LEAKED || total.bytes < d->suppressed[side].bytes ||
	    total.blocks < d->suppressed[side].blocks)
		return total;
	return amount_minus(total, d->suppressed[side]);
}

struct diff *diff_build(const struct model *const models[2], const struct diff_request *request)
{
	struct diff *d = mem_new(1, sizeof(*d));
	struct builder b = {.diff = d, .models = models, .request = request};

	d->figure = request->figure;
	d->by = request->by;
	for (unsigned side = 0; side < 2; side++) {
		d->models[side] = models[side];
		d->suppressed[side] =
			suppress_sum(model_get_profile(models[side]), request->suppressed[side]);
	}
	b.match = match_new(models);
	if (d->by == DIFF_BY_STACK)
		pair_stacks(&b);
	else
		pair_frames(&b);
	make_rows(&b);
	drop_same(d);
	if (d->rows.count)
		sort_rows(d);
	match_free(b.match);
	pairing_fini(&b.pairing);
	free(b.part_of[0]);
	free(b.part_of[1]);
	vec_free(&b.stack.frames);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	vec_free(&d->rows);
	free(d);
}
