/* flat.c -- one row per function, line or module: what it allocated itself, and what it and all it
 * called allocated. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/flat.h"

#include <string.h>

#include "base/map.h"

struct counter {
	struct amount self;
	struct amount total;
	size_t last_site;  /* + 1: the site that was added to `total` last, so that recursion counts
			     once */
	uint32_t named_by; /* of a line: the frame that names it */
	bool has_name;
};

struct counting {
	struct counter *counters; /* by key */
	uint32_t *keys;		  /* by frame */
	struct counter *parts;	  /* by function of a line; NULL unless rows are lines */
	uint32_t none;		  /* key of what has no tag; no frame has it */
	uint32_t *functions;	  /* by frame: the first one of the same line and function */
};

/* Different texts may share a hash; the few that do get places of their own further on. */
static uint32_t find_same(struct map *index, const struct model *m, uint64_t hash, uint32_t frame,
			  bool (*is_same)(const struct model_frame *, const struct model_frame *))
{
	for (;; hash++) {
		uint32_t *first = map_reserve(index, hash);
		if (*first == 0)
			*first = frame + 1;
		if (is_same(model_get_frame(m, *first - 1), model_get_frame(m, frame)))
			return *first - 1;
	}
}

static bool is_same_line(const struct model_frame *a, const struct model_frame *b)
{
	return a->line == b->line && strcmp(a->file, b->file) == 0;
}

static bool is_same_line_and_function(const struct model_frame *a, const struct model_frame *b)
{
	return a->group == b->group && is_same_line(a, b);
}

static bool is_same_module(const struct model_frame *a, const struct model_frame *b)
{
	return a->placeholder == b->placeholder && strcmp(a->module, b->module) == 0;
}

uint32_t *flat_list_keys(const struct model *m, enum flat_key key)
{
	size_t count = model_get_frame_count(m);
	uint32_t *keys = mem_new(count + 1, sizeof(*keys));
	struct map index = {0};

	keys[count] = (uint32_t)count; /* of what has none */
	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *f = model_get_frame(m, i);
		keys[i] = f->group;
		if (key == FLAT_BY_LINE && !f->line)
			keys[i] = i; /* like no other; they would all share a hash */
		else if (key == FLAT_BY_LINE)
			keys[i] = find_same(&index, m, map_hash_text(f->file) + f->line, i,
					    is_same_line);
		else if (key == FLAT_BY_MODULE)
			keys[i] = find_same(&index, m, map_hash_text(f->module), i, is_same_module);
	}
	map_free(&index);
	return keys;
}

/* One line may be in many functions: the instances of a template. */
static uint32_t *list_functions_of_lines(const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint32_t *functions = mem_new(count, sizeof(*functions));
	struct map index = {0};

	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *f = model_get_frame(m, i);
		uint64_t hash = map_hash_text(f->file) + ((uint64_t)f->group << 32) + f->line;
		functions[i] =
			f->line ? find_same(&index, m, hash, i, is_same_line_and_function) : i;
	}
	map_free(&index);
	return functions;
}

static void count_stack(struct counter *counters, const uint32_t *keys, size_t site,
			const struct model_stack *stack, struct amount amount)
{
	for (size_t i = 0; i < stack->frames.count; i++) {
		struct counter *c = &counters[keys[stack->frames.at[i]]];
		if (i == 0)
			c->self = amount_plus(c->self, amount);
		if (c->last_site == site + 1)
			continue;
		c->last_site = site + 1;
		c->total = amount_plus(c->total, amount);
	}
}

/* What is left of a stack by tag: those it has, the innermost first, or `none`. */
static void keep_tags(const struct model *m, struct model_stack *stack, uint32_t none)
{
	size_t kept = 0;

	for (size_t i = 0; i < stack->frames.count; i++)
		if (model_get_frame(m, stack->frames.at[i])->named == PROFILE_NAMED_TAG)
			stack->frames.at[kept++] = stack->frames.at[i];
	if (!kept)
		stack->frames.at[kept++] = none;
	stack->frames.count = kept;
}

static void add_stack(const struct counting *counting, size_t site, const struct model_stack *stack,
		      struct amount amount)
{
	count_stack(counting->counters, counting->keys, site, stack, amount);
	if (counting->parts)
		count_stack(counting->parts, counting->functions, site, stack, amount);
}

static int compare_amounts(struct amount a, struct amount b)
{
	if (a.bytes != b.bytes)
		return a.bytes > b.bytes ? -1 : 1;
	return (a.blocks < b.blocks) - (a.blocks > b.blocks);
}

static int compare_rows_by_bytes(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;
	int order = compare_amounts(a->self, b->self);

	if (order == 0)
		order = compare_amounts(a->total, b->total);
	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

static int compare_rows_by_blocks(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;

	if (a->self.blocks != b->self.blocks)
		return a->self.blocks > b->self.blocks ? -1 : 1;
	if (a->total.blocks != b->total.blocks)
		return a->total.blocks > b->total.blocks ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static struct flat_row make_row(const struct counting *counting, uint32_t key)
{
	const struct counter *c = &counting->counters[key];

	if (key == counting->none)
		key = FLAT_NO_TAG;
	return (struct flat_row){counting->parts ? c->named_by : key, c->self, c->total};
}

/* A line is named by the function that has most of it, not by one that may have nothing. */
static void choose_names(const struct flat *f, const struct counting *counting)
{
	int (*compare)(const void *, const void *) =
		figure_is_count(f->figure) ? compare_rows_by_blocks : compare_rows_by_bytes;
	size_t count = model_get_frame_count(f->model);

	for (uint32_t i = 0; i < count; i++) {
		const struct counter *part = &counting->parts[i];
		struct counter *line = &counting->counters[counting->keys[i]];
		const struct counter *best = &counting->parts[line->named_by];
		struct flat_row new = {i, part->self, part->total};
		struct flat_row old = {line->named_by, best->self, best->total};
		if (part->last_site && (!line->has_name || compare(&new, &old) < 0)) {
			line->named_by = i;
			line->has_name = true;
		}
	}
}

static void list_rows(struct flat *f, const struct counting *counting)
{
	size_t count = model_get_frame_count(f->model);

	if (counting->parts)
		choose_names(f, counting);
	for (uint32_t i = 0; i <= count; i++)
		if (counting->counters[i].last_site)
			*vec_push(&f->rows) = make_row(counting, i);
	if (f->rows.count)
		qsort(f->rows.at, f->rows.count, sizeof(*f->rows.at),
		      figure_is_count(f->figure) ? compare_rows_by_blocks : compare_rows_by_bytes);
}

static void counting_init(struct counting *c, const struct model *m, enum flat_key key)
{
	size_t count = model_get_frame_count(m);

	*c = (struct counting){
		.counters = mem_new(count + 1, sizeof(*c->counters)),
		.keys = flat_list_keys(m, key),
		.none = (uint32_t)count,
	};
	if (key != FLAT_BY_LINE)
		return;
	c->parts = mem_new(count, sizeof(*c->parts));
	c->functions = list_functions_of_lines(m);
}

static void counting_fini(struct counting *c)
{
	free(c->counters);
	free(c->keys);
	free(c->parts);
	free(c->functions);
}

struct flat *flat_build(const struct model *m, enum figure figure)
{
	return flat_build_of(m, figure, FLAT_BY_FUNCTION, NULL);
}

struct flat *flat_build_of(const struct model *m, enum figure figure, enum flat_key key,
			   const struct amount *amounts)
{
	const struct profile *p = model_get_profile(m);
	struct flat *f = mem_new(1, sizeof(*f));
	struct counting counting;
	struct model_stack stack = {0};

	*f = (struct flat){.model = m, .figure = figure, .key = key};
	counting_init(&counting, m, key);
	for (size_t i = 0; i < p->sites.count; i++) {
		struct amount amount = amounts ? amounts[i] : figure_get_estimate(p, i, figure);
		if (amount_is_zero(amount))
			continue;
		model_get_stack(m, i, &stack);
		if (key == FLAT_BY_TAG)
			keep_tags(m, &stack, counting.none);
		add_stack(&counting, i, &stack, amount);
		f->whole = amount_plus(f->whole, amount);
	}
	list_rows(f, &counting);
	counting_fini(&counting);
	vec_free(&stack.frames);
	return f;
}

void flat_free(struct flat *f)
{
	if (!f)
		return;
	vec_free(&f->rows);
	free(f);
}
